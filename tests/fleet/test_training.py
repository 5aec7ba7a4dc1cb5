"""A training on another machine: live lines and frames, the whole run, stop, and what happens when a machine dies."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from dmlviz.fleet import MachineLostError
from dmlviz.fleet.dask_client import answer_within, connect, list_machines
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.fleet.machine import Machine
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler, resume_fleet_jobs
from dmlviz.runs.damage import check
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record


def test_a_training_on_a_machine_gives_the_same_run_as_here(jobs, until, short, tmp_path):
    run = jobs.submit(training(jobs.runs, short))
    until(lambda: jobs.status(run).phase == "finished")
    there = jobs.runs.get(run.id)
    assert there.info["machine"] in ("gpu-1", "gpu-2")
    assert not [*check(there, thorough=True)]
    until(lambda: not jobs.running_for())
    assert not there.lock.locked
    here = Runs(tmp_path).create(short)
    list(train_and_record(here))
    np.testing.assert_array_equal(there.embeddings, here.embeddings)
    assert {path.relative_to(there.path) for path in there.path.rglob("*")} >= {
        path.relative_to(here.path) for path in here.path.rglob("*") if path.name != "lock"
    }
    assert [event["event"] for event in there.events()] == [event["event"] for event in here.events()]


def test_frames_come_while_it_trains_and_the_log_goes_on_without_a_gap(jobs, until, long):
    run = jobs.submit(training(jobs.runs, long.replace(seed=1)))
    record = jobs.runs.get(run.id)
    until(lambda: record.snapshot_steps and len(record.log.lines()) >= 4)
    status = jobs.status(run)
    assert status.phase == "running"
    assert status.machine in ("gpu-1", "gpu-2")
    live = record.log.lines()
    frames = [event["frame"] for event in record.events() if event["event"] == "snapshot"]
    assert all(len(record.frame(frame["id"])) == 2 * frame["n"] * frame["dims"] for frame in frames)
    assert len(record.tracked_indices) == frames[0]["n"]
    assert record.state == "running"
    inode = record.log.path.stat().st_ino
    jobs.stop(run)
    until(lambda: jobs.status(run).phase == "stopped")
    assert record.log.path.stat().st_ino == inode  # readers go on where they were
    assert record.log.lines()[: len(live)] == live
    assert not [*check(Run(record.path), thorough=True)]


def test_stop_ends_a_training_with_all_images_embedded(jobs, until, long):
    run = jobs.submit(training(jobs.runs, long.replace(seed=60)))
    until(lambda: run.snapshot_steps)
    assert jobs.stop(run)
    until(lambda: jobs.status(run).phase == "stopped")
    assert run.embeddings is not None


def test_two_trainings_take_two_machines_and_a_third_waits(jobs, until, short, long):
    first, second = (jobs.submit(training(jobs.runs, long.replace(seed=seed)), owner=str(seed)) for seed in (10, 11))
    third = jobs.submit(training(jobs.runs, short.replace(seed=12)))
    until(lambda: {jobs.status(run).phase for run in (first, second)} == {"running"})
    assert {jobs.status(run).machine for run in (first, second)} == {"gpu-1", "gpu-2"}
    assert (jobs.status(third).phase, jobs.status(third).position) == ("queued", 1)
    jobs.stop(first)
    until(lambda: jobs.status(third).phase == "finished")
    assert jobs.status(second).phase == "running"


def test_a_worker_process_that_is_killed_is_a_failure_with_a_reason(jobs, machines, until, long, descendants):
    run = jobs.submit(training(jobs.runs, long.replace(seed=20)))
    until(lambda: run.snapshot_steps)
    machine = machines[jobs.status(run).machine].process.pid
    for pid in descendants(machine):
        if _is_training(pid):
            os.kill(pid, signal.SIGKILL)
    until(lambda: jobs.status(run).phase == "failed")
    assert "killed (signal 9): most likely out of memory" in jobs.status(run).reason
    assert len(jobs.fleet.machines) == 2


def _is_training(pid):
    with open(f"/proc/{pid}/comm") as file:
        return "dmlviz worker" in file.read()


def test_a_machine_that_dies_loses_no_run_it_begins_again_on_the_other(
    cluster, jobs, machines, start_worker, until, long, descendants, alive
):
    run = jobs.submit(training(jobs.runs, long.replace(seed=30)))
    until(lambda: run.snapshot_steps)
    lost = jobs.status(run).machine
    other = ({"gpu-1", "gpu-2"} - {lost}).pop()
    pids = descendants(machines[lost].process.pid)
    machines.pop(lost).kill()
    until(lambda: jobs.status(run).machine == other and jobs.status(run).phase == "running")
    assert jobs.runs.get(run.id).info["restarts"] == [f"{lost} was lost."]
    until(lambda: not any(map(alive, pids)))
    machines[lost] = start_worker(jobs.fleet.address, lost)
    until(lambda: len(jobs.fleet.machines) == 2)
    jobs.stop(run)
    until(lambda: jobs.status(run).phase == "stopped")
    assert [event["event"] for event in run.events()].count("started") == 1


def test_a_scheduler_that_dies_comes_back_and_the_run_begins_again(jobs, until, long):
    run = jobs.submit(training(jobs.runs, long.replace(seed=40)))
    until(lambda: run.snapshot_steps)
    jobs.fleet._scheduler.kill()
    until(lambda: jobs.runs.get(run.id).info.get("restarts"))
    until(lambda: jobs.status(run).phase == "running")
    assert jobs.runs.get(run.id).info["restarts"][0] == "The fleet was lost."
    assert [event["event"] for event in run.events()].count("started") == 1


SERVER = """
import sys, time
from pathlib import Path
from dmlviz.config import TrainConfig
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
jobs = JobScheduler(Path(sys.argv[1]), slots=0, warm=False, fleet=DaskFleet(sys.argv[2], Path(sys.argv[3])))
print(jobs.submit(training(jobs.runs, TrainConfig.from_json(sys.argv[4]))).id, flush=True)
time.sleep(600)
"""


def test_a_server_that_was_killed_gets_the_training_that_went_on(
    certificates, free_address, start_worker, until, long, tmp_path
):
    address = free_address()
    machine = start_worker(address, "gpu-9")
    command = [sys.executable, "-c", SERVER, str(tmp_path), address, str(certificates), long.to_json()]
    again = None
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            run = Run(tmp_path / server.stdout.readline().strip())
            until(lambda: len(run.log.lines()) > 5, 240)  # three programs start
            server.kill()  # and with it the fleet's scheduler, which it has started
        lines = run.log.lines()
        assert run.state == "interrupted"
        again = JobScheduler(tmp_path, slots=0, warm=False, fleet=DaskFleet(address, certificates))
        assert resume_fleet_jobs(again) == [run.id]
        until(lambda: len(run.log.lines()) > len(lines), 120)
        assert again.status(run).machine == "gpu-9"
        assert run.log.lines()[: len(lines)] == lines  # the same training: its times are in the lines
        assert again.stop(run)
        until(lambda: again.status(run).phase == "stopped")
        assert not [*check(Run(run.path), thorough=True)]
    finally:
        if again is not None:
            again.close()
        machine.said()


def test_a_training_that_nobody_awaits_leaves_its_slot_to_the_next(short, long):
    machine = Machine(slots=1)
    numbers = itertools.count()

    def work(config, is_awaited=lambda: True):
        content = {"kind": "train", "config": config.to_dict()}
        return machine.work(f"00000000-{next(numbers)}", content, lambda _: None, is_awaited)

    try:
        for waiting in range(2):  # a result that waits for its server, too, and needs no slot
            with pytest.raises(MachineLostError):
                work(long.replace(seed=waiting), is_awaited=lambda: False)
            assert machine.jobs.running_for()
            assert work(short.replace(seed=waiting))
            assert not machine.jobs.running_for()
    finally:
        machine.close()


def test_a_scheduler_without_an_answer_is_no_fleet_without_machines(cluster, monkeypatch):
    jobs, _ = cluster
    client = connect(jobs.fleet.address, jobs.fleet._security)
    try:
        assert len(list_machines(client)) == 2
        client.sync(client._update_scheduler_info)  # as Dask does every few seconds, for its display

        async def no_answer(**_):
            raise OSError("no answer")

        monkeypatch.setattr(client.scheduler, "identity", no_answer)
        with pytest.raises(OSError, match="no answer"):
            list_machines(client)
    finally:
        client.close()


def test_a_machine_that_never_answers_is_not_waited_for_nor_at_the_end_of_the_program():
    ask = "import time; from dmlviz.fleet.dask_client import answer_within; answer_within(0.1, lambda: time.sleep(99))"
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=False)
    assert "TimeoutError" in ended.stderr
    assert time.monotonic() - began < 90  # and not the 99 seconds that the answer takes
    with pytest.raises(ZeroDivisionError):
        answer_within(5, lambda: 1 / 0)
    assert answer_within(5, threading.get_ident) != threading.get_ident()
