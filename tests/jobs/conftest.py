"""One slot, a warm worker, and how to wait for what they do."""

import pytest

from dmlviz.config import TrainConfig
from dmlviz.jobs import order
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs
from tests.waiting import alive


@pytest.fixture(scope="session")
def short():
    """A training of a tenth of a second."""
    return TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=20, num_snapshots=4, eval_subset_size=100)


@pytest.fixture(scope="session")
def long(short):
    """One that goes on until it is stopped."""
    return short.replace(steps=500_000)


@pytest.fixture(scope="session", name="alive")
def living():
    return alive


@pytest.fixture(autouse=True, scope="session")
def patience():
    """A worker that is asked to stop has a minute to answer: its priority is low, and the machine may be busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "TRAINING_STOP_TIMEOUT_S", 60.0)
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
        for job, _ in jobs.running_for():
            jobs.stop(job.record)
        until(lambda: not jobs.running_for())


@pytest.fixture(scope="module")
def finished(jobs, until, short):
    run = jobs.submit(training(jobs.runs, short))
    until(lambda: jobs.status(run).phase == "finished")
    until(lambda: not jobs.running_for())
    return jobs.runs.get(run.id)
