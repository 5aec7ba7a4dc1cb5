"""One slot, a warm worker, and how to wait for what they do."""

from pathlib import Path

import pytest

from dmlviz.config import TrainConfig
from dmlviz.jobs.job_queue import STOP_TIMEOUT_S
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs


@pytest.fixture(scope="session")
def short():
    """A training of a tenth of a second."""
    return TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=20, num_snapshots=4, eval_subset_size=100)


@pytest.fixture(scope="session")
def long(short):
    """One that goes on until it is stopped."""
    return short.replace(steps=500_000)


def alive(pid):
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture(scope="session", name="alive")
def living():
    return alive


@pytest.fixture(autouse=True, scope="session")
def patience():
    """A worker that is asked to stop has a minute to answer: its priority is low, and the machine may be busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STOP_TIMEOUT_S, "train", 60.0)
        yield


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """One slot, a warm worker; shared, so that a test leaves nothing under way."""
    jobs = JobScheduler(Runs(tmp_path_factory.mktemp("runs")), slots=1)
    yield jobs
    jobs.close()


@pytest.fixture(autouse=True)
def nothing_left_under_way(request, until):
    yield
    if "jobs" in request.fixturenames:
        jobs = request.getfixturevalue("jobs")
        for key, _ in jobs.running_for():
            jobs.stop(key.run, key.projection, trial=key.trial)
        until(lambda: not jobs.running_for())


@pytest.fixture(scope="module")
def finished(jobs, until, short):
    run = jobs.submit(short)
    until(lambda: jobs.status(run).phase == "finished")
    until(lambda: not jobs.running_for())
    return jobs.runs.get(run)
