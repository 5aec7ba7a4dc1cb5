"""The queue: trainings submitted, shared, stopped, submitted again."""

import os
import signal
import threading
from collections import deque

import numpy as np
import pytest

from dmlviz.data import load
from dmlviz.errors import BusyError, UserError
from dmlviz.jobs import scheduler
from dmlviz.jobs.order import JOBS, training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.event_log_dir import EventLogDir
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record


def worker_of(jobs, run):
    return next(worker for worker, job in jobs.turns.active.items() if job.record.path == run.path)


def test_a_training_finishes_and_writes_all_files(finished, short):
    test = load("digits").test
    assert finished.config == short
    assert finished.embeddings.shape == (len(test), 8)
    np.testing.assert_array_equal(finished.labels, test.labels)
    assert 0 < finished.metrics["precision_at_1"] <= 1
    names = [event["event"] for event in finished.events()]
    assert names[0] == "started"
    assert names.count("step") == 20
    assert names[-2:] == ["replay", "finished"]
    assert not list(finished.path.rglob("*.tmp"))


def test_equal_requests_share_one_run(jobs, finished, short):
    assert jobs.submit(training(jobs.runs, short), owner="somebody else").id == finished.id
    assert jobs.status(finished).phase == "finished"
    assert jobs.running_for() == []
    assert jobs.runs.get(finished.id).created == finished.created


def test_concurrent_equal_requests_share_one_run(jobs, until, long):
    config, ids = long.replace(seed=1), []

    def submit(owner):
        return jobs.submit(training(jobs.runs, config), owner).id

    ask = [threading.Thread(target=lambda who=i: ids.append(submit(f"owner {who}"))) for i in range(12)]
    for thread in ask:
        thread.start()
    for thread in ask:
        thread.join()
    assert ids == [config.id] * 12
    [(job, _)] = jobs.running_for()
    assert job.record.id == config.id
    until(lambda: jobs.status(job.record).phase == "running")
    assert len([event for event in job.record.events() if event["event"] == "started"]) == 1


def test_stop_ends_a_training_with_all_images_embedded(jobs, until, long):
    run = jobs.submit(training(jobs.runs, long.replace(seed=60)))
    until(lambda: run.snapshot_steps)
    assert jobs.stop(run)
    assert jobs.status(run).phase in ("stopping", "stopped")
    until(lambda: jobs.status(run).phase == "stopped")
    stopped = jobs.runs.get(run.id)
    assert stopped.embeddings.shape == (len(load("digits").test), 8)
    assert stopped.end["metrics"]["precision_at_1"] > 0
    assert jobs.status(run).reason
    until(lambda: not jobs.running_for())
    assert not jobs.stop(run)


def test_a_second_stop_ends_a_worker_that_does_not_answer(jobs, until, alive, long):
    run = jobs.submit(training(jobs.runs, long.replace(seed=3)))
    until(lambda: run.snapshot_steps)
    pid = worker_of(jobs, run).pid
    os.kill(pid, signal.SIGSTOP)
    jobs.stop(run)
    jobs.stop(run)
    until(lambda: not alive(pid))
    until(lambda: jobs.status(run).phase == "stopped")


def test_a_stopped_run_starts_again_when_resubmitted(jobs, until, long):
    run = jobs.submit(training(jobs.runs, long.replace(seed=4)))
    until(lambda: run.snapshot_steps)
    before = run.created
    jobs.stop(run)
    assert jobs.submit(training(jobs.runs, long.replace(seed=4))).id == run.id
    assert jobs.status(run).phase in ("starting", "running")
    assert jobs.runs.get(run.id).created > before
    until(lambda: jobs.status(run).phase == "running")


def test_who_submits_a_run_whose_worker_does_not_end_hears_of_it_while_that_is_so(jobs, until, long, monkeypatch):
    monkeypatch.setattr(scheduler, "STOP_WAIT_S", 0.1)
    order = training(jobs.runs, long.replace(seed=5))
    run = jobs.submit(order)
    until(lambda: run.snapshot_steps)
    worker = worker_of(jobs, run)
    os.kill(worker.pid, signal.SIGSTOP)
    jobs.stop(run)
    with pytest.raises(BusyError, match="being stopped") as refused:
        jobs.submit(order)
    assert refused.value.lasts()
    worker.kill()
    until(lambda: not refused.value.lasts())
    jobs.submit(order)


def test_the_queue_shows_positions_and_moves_on(jobs, until, long):
    orders = [training(jobs.runs, long.replace(seed=seed)) for seed in (10, 11, 12)]
    first, second, third = (jobs.submit(order, str(number)) for number, order in enumerate(orders))
    assert [jobs.status(run).phase for run in (first, second, third)][1:] == ["queued", "queued"]
    status = jobs.status(third)
    assert (status.position, status.of) == (2, 2)
    assert jobs.runs.get(third.id).title  # a queued run has its page already
    jobs.stop(second)
    assert jobs.status(second).phase == "stopped"
    assert second.state == "stopped"
    status = jobs.status(third)
    assert (status.position, status.of) == (1, 1)
    jobs.stop(first)
    until(lambda: jobs.status(third).phase == "running")
    assert jobs.status(third).position is None


def test_one_owner_has_one_job_at_a_time_and_three_waiting(tmp_path, long):
    jobs = JobScheduler(tmp_path, slots=3, warm=False)
    try:
        orders = [training(jobs.runs, long.replace(seed=seed)) for seed in range(JOBS.of_person)]
        mine = [jobs.submit(order, owner="me") for order in orders]
        assert [jobs.status(run).phase for run in mine][1:] == ["queued"] * 3
        with pytest.raises(UserError, match="at most one job running and 3 waiting"):
            jobs.submit(training(jobs.runs, long.replace(seed=99)), owner="me")
        assert jobs.submit(training(jobs.runs, long.replace(seed=0)), owner="me").id == mine[0].id  # not a new one
        theirs = jobs.submit(training(jobs.runs, long.replace(seed=100)), owner="you")
        # A slot is free, and it is not theirs to wait for mine.
        assert jobs.status(theirs).phase in ("starting", "running")
        assert [job.record.id for job, _ in jobs.running_for("you")] == [theirs.id]
    finally:
        jobs.close()


def test_one_of_two_owners_cannot_stop_a_shared_job(jobs, until, long):
    config = long.replace(seed=20)
    run = jobs.submit(training(jobs.runs, config), owner="me")
    jobs.submit(training(jobs.runs, config), owner="you")
    assert not jobs.stop(run, owner="a stranger")
    assert not jobs.stop(run, owner="me")
    assert jobs.status(run).phase in ("starting", "running")
    assert jobs.stop(run, owner="you")
    until(lambda: jobs.status(run).phase == "stopped")


def test_the_status_of_an_unknown_job_is_unknown(jobs):
    nothing = EventLogDir(jobs.runs.folder / ("0" * 16))
    assert jobs.status(nothing).phase == "unknown"
    assert not jobs.stop(nothing)


def test_each_job_is_reported_when_it_begins_and_when_it_has_ended(jobs, until, short, long):
    mine = {short.replace(seed=90).id, long.replace(seed=90).id}
    reports = []  # without those of an earlier test, whose job may just end
    jobs.dispatcher.on_job = lambda report: reports.append(report) if report.run in mine else None
    try:
        with jobs._change:  # the first cannot end before the second has been stopped
            first = jobs.submit(training(jobs.runs, short.replace(seed=90)), owner="ada")
            waiting = jobs.submit(training(jobs.runs, long.replace(seed=90)), owner="ada")
            jobs.stop(waiting)
        until(lambda: len(reports) == 3)
    finally:
        jobs.dispatcher.on_job = lambda report: None
    begun, dropped, ended = reports
    assert (begun.run, begun.kind, begun.state, begun.owner) == (first.id, "train", "starting", "ada")
    assert (dropped.run, dropped.state, dropped.worker, dropped.seconds) == (waiting.id, "stopped", "", 0)
    assert (ended.run, ended.state, ended.reason) == (first.id, "finished", "")
    assert ended.worker.isdecimal()
    assert 0 < first.end["seconds"] < ended.seconds
    assert 0 <= begun.waited == ended.waited


def test_a_listener_that_fails_stops_no_job(jobs, until, short):
    jobs.dispatcher.on_job = lambda report: 1 / 0
    try:
        run = jobs.submit(training(jobs.runs, short.replace(seed=91)))
        until(lambda: jobs.status(run).phase == "finished")
    finally:
        jobs.dispatcher.on_job = lambda report: None


def test_it_is_ready_once_a_worker_waits_and_replaces_one_that_died(jobs, until):
    until(lambda: jobs.ready)
    before = jobs.dispatcher.pool.idle_worker
    before.kill()
    until(lambda: not jobs.ready)
    until(lambda: jobs.ready)
    assert jobs.dispatcher.pool.idle_worker is not before


def test_a_race_trains_as_each_would_alone_in_one_slot_and_one_that_fails_leaves_the_others_going(
    jobs, until, short, tmp_path
):
    base = short.replace(seed=70, loss="softmax", steps=60)
    configs = [base, base.replace(loss="triplet"), base.replace(corrections="0" * 16)]
    orders = [training(jobs.runs, config) for config in configs]
    first = jobs.submit(orders[0])
    until(lambda: jobs.status(first).phase == "finished" and not jobs.running_for())  # so that it does not run again
    orders += [training(jobs.runs, base.replace(seed=71))]
    jobs.race(orders, owner="ada")
    runs = [jobs.runs.get(order.run) for order in orders]
    assert [job.order.run for job, _ in jobs.running_for("ada")] == [runs[1].id]  # one job, in one slot
    assert jobs.submit(orders[3], owner="bob").id == runs[3].id  # shared
    assert jobs.owners_of(runs[1]) == ("ada", "bob")
    until(lambda: not jobs.running_for())
    assert [run.state for run in runs] == ["finished", "finished", "failed", "finished"]
    assert "corrections" in jobs.status(runs[2]).reason
    until(lambda: jobs.ended(orders[2].id))  # noted after the place in the queue is free
    assert jobs.ended(orders[2].id)[0].state == "failed"
    times = [[event["time"] for event in run.events() if event["event"] == "snapshot"] for run in runs]
    assert times[1][0] < times[3][0] < times[1][1] < times[3][1]  # by turns
    for config, run in zip(configs[:2], runs, strict=False):
        alone = Runs(tmp_path).create(config)
        deque(train_and_record(alone), maxlen=0)
        np.testing.assert_array_equal(alone.embeddings, run.embeddings)


def test_stopping_one_of_a_race_stops_all_and_each_is_a_run_with_its_embeddings(jobs, until, long):
    orders = [training(jobs.runs, long.replace(seed=seed)) for seed in (72, 73)]
    blocked = jobs.submit(training(jobs.runs, long.replace(seed=74)))
    jobs.race(orders)
    runs = [jobs.runs.get(order.run) for order in orders]
    assert [(jobs.status(run).phase, jobs.status(run).position) for run in runs] == [("queued", 1)] * 2
    assert jobs.find(orders[1].id).order.run == runs[1].id
    jobs.stop(blocked)
    until(lambda: all(run.snapshot_steps for run in runs))
    jobs.stop(runs[1])
    until(lambda: not jobs.running_for())
    assert [run.state for run in runs] == ["stopped"] * 2
    assert all(len(run.embeddings) == len(load("digits").test) for run in runs)


def test_a_race_whose_worker_is_killed_leaves_no_run_without_an_end(jobs, until, long):
    orders = [training(jobs.runs, long.replace(seed=seed)) for seed in (75, 76)]
    jobs.race(orders)
    runs = [jobs.runs.get(order.run) for order in orders]
    until(lambda: all(run.snapshot_steps for run in runs))
    worker_of(jobs, runs[0]).kill()
    until(lambda: not jobs.running_for())
    assert [run.state for run in runs] == ["failed"] * 2
