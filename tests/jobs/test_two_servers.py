"""Two programs on one folder of runs: one does a job, the other follows it, and takes it over where the first ends."""

from functools import partial

import pytest

from dmlviz.jobs.claims import claim
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from tests.waiting import at_once, until

LIVE = ("queued", "starting", "running", "stopping")


@pytest.fixture
def two(tmp_path):
    servers = [JobScheduler(tmp_path, slots=1, warm=False) for _ in range(2)]
    yield servers
    for server in servers:
        server.close()


def submit(server, config):
    return server.submit(training(server.runs, config))


def test_a_claim_is_one_s_until_it_is_released(tmp_path):
    right = claim(tmp_path, tmp_path / "run")
    assert claim(tmp_path, tmp_path / "run") is None
    other = claim(tmp_path, tmp_path / "other")
    right.release()
    again = claim(tmp_path, tmp_path / "run")
    for one in (other, again):
        one.release()
    assert list((tmp_path / ".claims").iterdir()) == []


def test_equal_trainings_of_two_servers_at_once_are_one(two, short):
    for seed in (1, 2):
        config = short.replace(seed=seed)
        at_once(*(partial(submit, server, config) for server in two))
        run = two[0].runs.get(config.id)
        until(lambda run=run: run.end is not None)
        until(lambda: not any(server.running_for() for server in two))
        assert [server.status(run).phase for server in two] == ["finished"] * 2
        kinds = [event["event"] for event in run.events()]
        assert (kinds.count("started"), kinds.count("finished"), kinds[-1]) == (1, 1, "finished")


def test_what_one_server_queues_another_takes_over_where_the_first_ends(two, short, long):
    first, second = two
    running, waiting = submit(first, long), submit(first, short)
    until(lambda: running.snapshot_steps)
    assert submit(second, short).id == waiting.id
    submit(second, long)
    assert second.status(running).phase == "running"
    assert second.status(waiting).phase == "queued"
    first.close()
    until(lambda: any(active.record.path == running.path for active in second.turns.active.values()))
    second.stop(running)
    until(lambda: second.status(waiting).phase == "finished")
    until(lambda: second.status(running).phase == "stopped")


def test_who_leaves_what_another_server_does_stops_nothing(two, long):
    first, second = two
    run = submit(first, long)
    until(lambda: run.snapshot_steps)
    submit(second, long)
    second.stop(run)
    assert second.running_for() == []
    assert first.status(run).phase == "running"
    first.stop(run)
    until(lambda: first.status(run).phase == "stopped")
