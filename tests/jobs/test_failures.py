"""Killed workers, damaged data, shutdown: one sentence, no process left, and the next job runs."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.jobs.order import training
from dmlviz.jobs.pool import embed_images
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs


def worker_of(jobs, run):
    return next(worker for worker, job in jobs.turns.active.items() if job.record.path == run.path)


def test_a_killed_worker_is_a_failure_with_a_reason_and_the_next_job_runs(jobs, until, short, long):
    run = jobs.submit(training(jobs.runs, long.replace(seed=30)))
    following = jobs.submit(training(jobs.runs, short.replace(seed=30)))
    until(lambda: run.snapshot_steps)
    os.kill(worker_of(jobs, run).pid, signal.SIGKILL)
    until(lambda: jobs.status(run).phase == "failed")
    assert "killed (signal 9): most likely out of memory" in jobs.status(run).reason
    assert run.state == "failed"
    assert run.end["reason"] == jobs.status(run).reason
    until(lambda: jobs.status(following).phase == "finished")


def test_a_warm_worker_that_died_is_replaced(jobs, until, short):
    jobs.dispatcher.prestart()
    spare = jobs.dispatcher.pool.idle_worker
    os.kill(spare.pid, signal.SIGKILL)
    run = jobs.submit(training(jobs.runs, short.replace(seed=31)))
    until(lambda: jobs.status(run).phase not in ("queued", "starting", "running"))
    assert jobs.status(run).phase in ("finished", "failed")
    again = jobs.submit(training(jobs.runs, short.replace(seed=31)))
    until(lambda: jobs.status(again).phase == "finished")


def test_a_worker_that_cannot_be_started_fails_its_job_and_no_other(jobs, until, short, long, monkeypatch):
    running = jobs.submit(training(jobs.runs, long.replace(seed=32)))
    failing = jobs.submit(training(jobs.runs, short.replace(seed=33)))
    with monkeypatch.context() as patch:

        def refuse(*_):
            patch.undo()
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

        patch.setattr(jobs.dispatcher.pool, "dispatch", refuse)
        jobs.stop(running)
        until(lambda: jobs.status(failing).phase == "failed")
    assert "No worker could be started" in jobs.status(failing).reason
    following = jobs.submit(training(jobs.runs, short.replace(seed=34)))
    until(lambda: jobs.status(following).phase == "finished")


def test_damaged_data_fail_the_run_with_one_sentence(tmp_path, until, short):
    raw = tmp_path / "data/MNIST/raw"
    raw.mkdir(parents=True)
    for part in ("train", "t10k"):
        for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
            (raw / f"{part}-{kind}").write_bytes(b"not an idx file")
    jobs = JobScheduler(tmp_path / "runs", slots=1, data_root=tmp_path / "data", warm=False)
    try:
        run = jobs.submit(training(jobs.runs, short.replace(dataset="mnist")))
        until(lambda: jobs.status(run).phase == "failed")
        assert "idx3-ubyte" in jobs.status(run).reason
        assert "Traceback" not in jobs.status(run).reason
    finally:
        jobs.close()


def test_a_killed_inference_worker_is_restarted(jobs, finished):
    images = load("digits").test.images[:1]
    embed_images(jobs.inference_worker, finished, images)
    worker = jobs.inference_worker._worker
    worker.kill()
    worker.join(60)
    assert len(embed_images(jobs.inference_worker, finished, images)["embeddings"]) == 1
    assert jobs.inference_worker._worker is not worker


def test_close_leaves_no_process_and_interrupts_runs(tmp_path, until, alive, short, long):
    jobs = JobScheduler(tmp_path, slots=1)
    run = jobs.submit(training(jobs.runs, long))
    until(lambda: jobs.status(run).phase == "running")
    jobs.dispatcher.prestart()
    pids = [worker_of(jobs, run).pid, jobs.dispatcher.pool.idle_worker.pid]
    assert all(map(alive, pids))
    jobs.close()
    until(lambda: not any(map(alive, pids)))
    assert Runs(tmp_path).get(run.id).state == "interrupted"
    with pytest.raises(UserError, match="shutting down"):
        jobs.submit(training(jobs.runs, short))


def test_workers_end_with_a_killed_server_and_its_run_can_be_resubmitted(tmp_path, until, alive, long):
    script = (
        "import os, sys, time; from dmlviz.config import TrainConfig; from dmlviz.jobs.scheduler import JobScheduler\n"
        "from dmlviz.jobs.order import training\n"
        "from pathlib import Path\n"
        "jobs = JobScheduler(sys.argv[1], slots=1)\n"
        "run = jobs.submit(training(jobs.runs, TrainConfig.from_json(sys.argv[2])))\n"
        "while not run.snapshot_steps: time.sleep(0.01)\n"
        "jobs.dispatcher.prestart(); idle = jobs.dispatcher.pool.idle_worker\n"
        "pids = [*[w.pid for w in jobs.turns.active], idle.pid]\n"
        "children = Path(f'/proc/self/task/{os.getpid()}/children').read_text()\n"
        "print(*pids, *children.split(), flush=True)\n"
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(tmp_path), long.to_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        pids = [int(pid) for pid in server.stdout.readline().split()]
        assert len(pids) == 3  # the training, the spare one, and the process that forked both
        assert all(map(alive, pids))
        server.kill()
    until(lambda: not any(map(alive, pids)))
    jobs = JobScheduler(tmp_path, slots=1, warm=False)
    try:
        run = jobs.runs.get(long.id)
        until(lambda: jobs.status(run).phase == "interrupted")  # its lock falls with the last of its threads
        assert jobs.submit(training(jobs.runs, long)).id == long.id
        until(lambda: jobs.status(run).phase == "running")
    finally:
        jobs.close()
