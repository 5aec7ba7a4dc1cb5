"""A shared folder whose changes others see seconds late, as on NFS: each side has a mount that remembers what it saw.

There is no NFS in most kernels that tests run on. bindfs shows the same folder twice, and the system keeps names,
attributes and the absence of files for 3 seconds in each, as NFS does.
"""

import shutil
import subprocess

import pytest
from cluster import Worker

from dmlviz.fleet.folder import check_folder
from dmlviz.fleet.folder_fleet import FolderFleet, server_name
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.damage import check
from dmlviz.runs.run import Run

LATE_S = 3
OPTIONS = ",".join(f"{kind}_timeout={LATE_S}" for kind in ("entry", "negative", "attr"))


@pytest.fixture
def mounts(tmp_path):
    """The same folder as the server sees it, and as the machine does."""
    if shutil.which("bindfs") is None:
        pytest.skip("bindfs is not installed")
    real, *seen = (tmp_path / name for name in ("real", "server", "machine"))
    check_folder(real)
    for path in seen:
        path.mkdir()
        mounted = subprocess.run(["bindfs", "-o", OPTIONS, real, path], capture_output=True, check=False)
        if mounted.returncode != 0:
            pytest.skip("this user may not mount")
    yield seen
    for path in seen:
        subprocess.run(["umount", path], check=False)


def test_a_folder_whose_changes_are_seen_late_loses_nothing(mounts, until, short, long, tmp_path):
    ours, theirs = mounts
    (ours / "seen").exists()
    (theirs / "seen").touch()
    assert not (ours / "seen").exists(), "changes are seen at once: this tests nothing"
    machine, runs = Worker(theirs, None, "node-1"), tmp_path / "runs"
    jobs = JobScheduler(runs, slots=0, warm=False, fleet=FolderFleet(ours, server_name(runs)))
    try:
        until(lambda: jobs.fleet.machines, 180)
        run = jobs.submit(short)
        until(lambda: jobs.status(run).phase == "finished", 180)
        assert jobs.runs.get(run).info["machine"] == "node-1"
        assert "restarts" not in jobs.runs.get(run).info
        assert not [*check(Run(runs / run), thorough=True)]
        run = jobs.submit(long)
        until(lambda: jobs.runs.get(run).snapshot_steps, 60)
        lines = jobs.runs.get(run).log.lines()
        until(lambda: len(jobs.runs.get(run).log.lines()) > len(lines), 60)  # they come late, and in order
        assert jobs.runs.get(run).log.lines()[: len(lines)] == lines
        assert jobs.status(run).phase == "running"
        assert jobs.stop(run)
        until(lambda: jobs.status(run).phase == "stopped", 60)
        assert jobs.runs.get(run).embeddings is not None
        assert not [*check(Run(runs / run), thorough=True)]
    finally:
        jobs.close()
        machine.said()
