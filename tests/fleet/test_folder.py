"""A fleet that shares a folder, its machines real processes: one dies, one freezes, the server is killed."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cluster import Worker, alive, descendants

from dmlviz.errors import UserError
from dmlviz.fleet.errors import FleetError
from dmlviz.fleet.folder import STALE_S, Beat, Pulse, check_folder, check_name, read_message, write_message
from dmlviz.fleet.folder_fleet import FolderFleet, server_name
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.damage import check
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

SERVER = """
import sys, time
from pathlib import Path
from dmlviz.config import TrainConfig
from dmlviz.fleet.folder_fleet import FolderFleet, server_name
from dmlviz.jobs.scheduler import JobScheduler
runs = Path(sys.argv[1])
jobs = JobScheduler(runs, slots=0, warm=False, fleet=FolderFleet(Path(sys.argv[2]), server_name(runs)))
print(jobs.submit(TrainConfig.from_json(sys.argv[3])), flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return check_folder(tmp_path_factory.mktemp("fleet"))


@pytest.fixture(scope="module")
def pair(folder, tmp_path_factory, until):
    """The server's jobs, and the machines by name."""
    machines = {name: Worker(folder, None, name) for name in ("node-1", "node-2")}
    runs = tmp_path_factory.mktemp("runs")
    jobs = JobScheduler(runs, slots=0, warm=False, fleet=FolderFleet(folder, server_name(runs)))
    try:
        until(lambda: len(jobs.fleet.machines) == 2)
        yield jobs, machines
    finally:
        jobs.close()
        for machine in machines.values():
            machine.said()


@pytest.fixture
def jobs(pair, until):
    jobs, _ = pair
    until(lambda: len(jobs.fleet.machines) == 2)
    yield jobs
    for key, _ in jobs.running_for():
        jobs.stop(key.run, key.projection, trial=key.trial)
    until(lambda: not jobs.running_for())


@pytest.fixture
def machines(pair):
    return pair[1]


def orders(folder):
    return [path for path in folder.glob("orders/*/*") if path.is_dir()]


def test_a_training_gives_the_same_run_as_here_and_leaves_no_order(jobs, folder, until, short, tmp_path):
    run = jobs.submit(short)
    until(lambda: jobs.status(run).phase in ("finished", "failed"))  # the machine imports everything first
    there = jobs.runs.get(run)
    assert there.state == "finished", (there.end, there.info)
    assert there.info["machine"] in ("node-1", "node-2")
    assert not [*check(there, thorough=True)]
    here = Runs(tmp_path).create(short)
    for _ in train_and_record(here):
        pass
    np.testing.assert_array_equal(there.embeddings, here.embeddings)
    assert [event["event"] for event in there.events()] == [event["event"] for event in here.events()]
    until(lambda: not orders(folder))


def test_frames_come_while_it_trains_and_stop_embeds_all_images(jobs, until, long):
    run = jobs.submit(long.replace(seed=1))
    until(lambda: jobs.runs.get(run).snapshot_steps)
    live = jobs.runs.get(run).log.lines()
    assert jobs.status(run).machine in ("node-1", "node-2")
    assert jobs.stop(run)
    until(lambda: jobs.status(run).phase == "stopped")
    record = jobs.runs.get(run)
    assert record.log.lines()[: len(live)] == live
    assert record.embeddings is not None
    assert not [*check(Run(record.path), thorough=True)]


def let_beat_be_stale(fleet, machine):
    """Its last beat that was seen is now STALE_S old: nobody needs to wait for that."""
    mark, _ = fleet._pulse._seen[machine]
    fleet._pulse._seen[machine] = mark, time.monotonic() - STALE_S


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_a_machine_whose_beat_is_stale_loses_no_run(fault, jobs, machines, folder, until, long):
    run = jobs.submit(long.replace(seed=30 + fault))
    until(lambda: jobs.runs.get(run).snapshot_steps)
    lost = jobs.status(run).machine
    children = descendants(machines[lost].process.pid)
    machines[lost].process.send_signal(fault)

    def begun_elsewhere():
        if lost in [machine.name for machine in jobs.fleet.machines]:  # its last beat may come after the signal
            let_beat_be_stale(jobs.fleet, lost)
        return jobs.status(run).phase == "running" and jobs.status(run).machine not in ("", lost)

    until(begun_elsewhere)
    assert jobs.runs.get(run).info["restarts"] == [f"{lost} was lost."]
    if fault == signal.SIGKILL:
        machines[lost].kill()
        until(lambda: not any(map(alive, children)))
        machines[lost] = Worker(folder, None, lost)
    else:
        machines[lost].process.send_signal(signal.SIGCONT)
    until(lambda: len(jobs.fleet.machines) == 2)
    jobs.stop(run)
    until(lambda: jobs.status(run).phase == "stopped")
    assert [event["event"] for event in jobs.runs.get(run).events()].count("started") == 1
    until(lambda: not orders(folder))


def test_a_server_that_was_killed_gets_the_training_that_went_on(jobs, machines, folder, until, long, tmp_path):
    config = long.replace(seed=50)
    command = [sys.executable, "-c", SERVER, str(tmp_path), str(folder), config.to_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        run = server.stdout.readline().strip()
        until(lambda: len(Run(tmp_path / run).log.lines()) > 5)
        server.kill()
    before = Run(tmp_path / run)
    machine, lines = before.info["machine"], before.log.lines()
    assert before.state == "interrupted"
    trainings = set(descendants(machines[machine].process.pid))
    again = JobScheduler(tmp_path, slots=0, warm=False, fleet=FolderFleet(folder, server_name(tmp_path)))
    try:
        assert again.resume_fleet_jobs() == [run]
        until(lambda: len(again.runs.get(run).log.lines()) > len(lines))
        assert again.status(run).machine == machine
        assert again.runs.get(run).log.lines()[: len(lines)] == lines  # the same training: its times are in the lines
        assert again.stop(run, owner="somebody")  # nobody else is known to want it
        until(lambda: again.status(run).phase == "stopped")
        assert not [*check(Run(tmp_path / run), thorough=True)]
        assert trainings
    finally:
        again.close()


def test_what_a_machine_writes_is_checked(jobs, folder, until, long):
    run = jobs.submit(long.replace(seed=60))
    until(lambda: jobs.runs.get(run).snapshot_steps)
    (order,) = [path for path in orders(folder) if path.name.endswith(run)]
    with contextlib.suppress(FileNotFoundError):  # the order may be over before the last one is written
        for number in range(2000):  # in the place of one that will come
            (order / "messages" / f"{number:06}.json").write_text('{"lines": 1}')
    until(lambda: jobs.status(run).phase == "failed")
    assert "cannot be read" in jobs.status(run).reason


def test_a_second_machine_of_the_same_name_is_refused_with_a_sentence(jobs, folder):
    output, status = _end(Worker(folder, None, "node-1"))
    assert status == 2
    assert "a machine named node-1 already" in output
    assert "Traceback" not in output


def _end(worker):
    worker.process.wait(120)
    return worker.said()


def test_messages_are_the_same_after_the_way_through_a_file(tmp_path):
    message = {"first": 3, "lines": ['{"event":"step"}'], "files": {"a.npy": b"\x00\xff"}, "info": {"device": "cpu"}}
    write_message(tmp_path / "0.json", message)
    assert read_message(tmp_path / "0.json") == message
    assert read_message(tmp_path / "1.json") is None


@pytest.mark.parametrize("content", ["", "[]", '{"first": 0}', '{"first":0,"lines":[],"info":{},"files":{"a":"%"}}'])
def test_a_message_that_is_none_is_one_sentence(tmp_path, content):
    (tmp_path / "0.json").write_text(content)
    with pytest.raises(UserError, match=r"0\.json cannot be read"):
        read_message(tmp_path / "0.json")


def test_who_has_not_been_seen_to_live_is_not_there(tmp_path):
    beat, pulse = Beat(tmp_path / "a.json", {"slots": 1}), Pulse(tmp_path, 60, benefit=False)
    beat.write()
    assert pulse.living() == {}  # it may have died a year ago
    beat._written = float("-inf")
    beat.write()
    assert pulse.living()["a"]["slots"] == 1
    assert Pulse(tmp_path, 0, benefit=True).living() == {}  # stale at once
    short = Pulse(tmp_path, 0.05, benefit=True)
    assert "a" in short.living()
    time.sleep(0.05)
    assert short.living() == {}


def test_a_folder_that_everybody_can_write_to_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(FleetError, match="chmod o-w"):
        check_folder(tmp_path)
    os.chmod(tmp_path, 0o755)
    assert check_folder(tmp_path) == tmp_path.resolve()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 61, "a b"])
def test_a_name_that_is_no_file_name_is_refused(name):
    with pytest.raises(FleetError, match="--name"):
        check_name(name)
