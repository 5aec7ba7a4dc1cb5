"""Library, trainings and the app alone without what Windows lacks: fcntl, resource, forks, signals that ask."""

import os
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

pytestmark = pytest.mark.slow

# Read by every Python process before anything else. The standard library and the event loop take what they need first.
MISSING = """
import asyncio, fcntl, multiprocessing, os, psutil, signal, subprocess, sys, types

def locking(descriptor, mode, count):
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, count, os.lseek(descriptor, 0, os.SEEK_CUR))
    except OSError as error:
        raise PermissionError(13, "Permission denied") from error

sys.modules["msvcrt"] = types.ModuleType("msvcrt")
sys.modules["msvcrt"].__dict__.update(locking=locking, LK_NBLCK=2)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "uvloop"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "nice", "pipe2", "setsid", "killpg", "sched_getaffinity", "O_NONBLOCK", "O_NOFOLLOW"):
    delattr(os, name)
for name in ("SIGCHLD", "SIGHUP", "SIGUSR1", "SIGALRM", "SIGIO"):
    if hasattr(signal, name):
        delattr(signal, name)
subprocess.Popen.terminate = subprocess.Popen.kill = lambda self: os.kill(self.pid, 9)
"""
SCRIPT = """
import sys, time
# These ask for the platform themselves.
import faiss, numpy, platformdirs, psutil, pydantic, scipy.spatial, sklearn.metrics, torch, typer
from dmlviz import losses
from dmlviz.cli.main import main
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs

def until(done):
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)

losses.build("triplet", margin=0.3)
platform, sys.platform = sys.platform, "win32"
try:
    main(["train", "--dataset", "digits", "--net", "mlp", "--steps", "20"])
except SystemExit as end:
    assert not end.code, end.code
sys.platform = platform
(run,) = (run for run in Runs("runs").list() if run.config.steps == 20)
assert run.state == "finished", run.state
assert (run.path / "lock").exists()
jobs = JobScheduler(Runs("others"), slots=1, warm=False)
run = jobs.submit(training(jobs.runs, run.config.replace(steps=500_000)))
until(lambda: jobs.runs.get(run.id).snapshot_steps)
jobs.stop(run)
until(lambda: jobs.status(run).phase not in ("running", "stopping"))
assert jobs.status(run).phase == "stopped", jobs.status(run)
assert jobs.runs.get(run.id).embeddings is not None  # it has embedded all test images
jobs.close()
print("trained")
"""


@pytest.fixture
def without(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(MISSING)
    return os.environ | {"PYTHONPATH": str(tmp_path / "hidden"), "DMLVIZ_RUNS": str(tmp_path / "runs")}


def test_the_library_trains_and_a_training_is_stopped_in_order(without, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=without, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("trained\n")
    assert "dmlviz is not tested on Windows" in done.stderr.splitlines()[0]


def test_the_app_alone_starts_and_a_worker_is_ready(without, tmp_path, until):
    command = [
        sys.executable,
        "-u",
        "-m",
        "dmlviz",
        "serve",
        "--no-browser",
        "--port",
        "0",
        "--runs",
        tmp_path / "runs",
    ]
    with subprocess.Popen(command, env=without, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))

            def ready() -> bool:
                try:
                    return urllib.request.urlopen(f"{address}/dmlviz/health/ready").status == 200
                except urllib.error.HTTPError:
                    return False

            until(ready)
        finally:
            process.kill()
