"""A search through training data is a job: shared, stopped, found again, gone with the server."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from dmlviz.cleaning import search
from dmlviz.cleaning.decisions import CleaningRecord, cleaning
from dmlviz.cleaning.job import clean_run
from dmlviz.errors import UserError
from dmlviz.jobs.job_record import Work
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.run import Run
from dmlviz.runs.run_folders import CLEANING_FOLDER
from dmlviz.runs.store import Runs


def record_of(jobs, run):
    return CleaningRecord.of(run, jobs.runs)


def test_a_search_is_a_job_of_the_queue_and_its_findings_stay(jobs, finished, until):
    record = record_of(jobs, finished)
    assert jobs.status(record).phase == "unknown"
    jobs.submit(cleaning(jobs.runs, finished), "ada")
    jobs.submit(cleaning(jobs.runs, finished), "bob")
    [(job, _)] = jobs.running_for("ada")
    assert (job.order.run, job.order.kind) == (finished.id, "clean")
    assert jobs.owners_of(record) == ("ada", "bob")
    until(lambda: jobs.status(record).phase == "finished")
    until(lambda: not jobs.running_for())
    found = record.findings
    assert (found["part"], found["images"]) == (2, 1201)
    assert {"suspect"} <= {row["kind"] for row in found["rows"]}
    assert record.progress["share"] > 0
    jobs.submit(cleaning(jobs.runs, finished))  # found already
    assert jobs.running_for() == []


def test_one_that_waits_or_runs_is_stopped_and_can_begin_again(jobs, finished, long, until):
    record = record_of(jobs, finished)
    record.log.path.unlink(missing_ok=True)
    before = jobs.submit(training(jobs.runs, long))
    until(lambda: jobs.status(before).phase == "running")
    jobs.submit(cleaning(jobs.runs, finished))
    assert jobs.status(record).phase == "queued"
    assert jobs.stop(record)
    assert jobs.status(record).phase == "stopped"
    jobs.stop(before)
    until(lambda: not jobs.running_for())
    jobs.submit(cleaning(jobs.runs, finished))
    until(lambda: jobs.status(record).phase == "finished")


def test_what_goes_wrong_is_a_sentence_and_a_wish_to_stop_ends_it(finished, tmp_path):
    order = cleaning(Runs(tmp_path), finished)
    record = order.begin()
    clean_run(Work(record.path, stop=lambda: True))
    assert record.end["event"] == "stopped"
    net = finished.path / "weights.safetensors"
    content = net.read_bytes()
    try:
        net.write_bytes(content[:100])
        record = order.begin()
        clean_run(Work(record.path))
        assert record.end["event"] == "failed"
        assert "weights.safetensors" in record.end["reason"]
    finally:
        net.write_bytes(content)


def test_suspects_among_the_first_images_come_before_the_rest(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "FIRST_LOOK", 300)
    first, parts = [], []
    found = search.find(finished, tmp_path, lambda words, share: parts.append(bool(first)), first.append)
    assert (first[0].images, found.images) == (300, 1201)
    assert {row.kind for row in first[0].rows} <= {"suspect"}
    assert first[0].cells == ()
    assert sum(cell["images"] for cell in found.cells) == 1201
    assert True in parts
    assert False in parts


def test_a_run_without_a_net_is_refused(jobs, finished):
    net = finished.path / "weights.safetensors"
    hidden = net.rename(net.with_suffix(".hidden"))
    try:
        with pytest.raises(UserError, match="has no net"):
            jobs.submit(cleaning(jobs.runs, finished))
    finally:
        hidden.rename(net)


def test_findings_go_with_the_run_that_is_deleted_but_not_while_they_are_written(jobs, finished, tmp_path):
    runs, other = Runs(tmp_path, tmp_path / "none"), tmp_path / CLEANING_FOLDER / "0123456789abcdef-1"
    copy = Run(shutil.copytree(finished.path, tmp_path / finished.id))
    record = CleaningRecord.create(CleaningRecord.of(copy, runs).path)
    other.mkdir()
    with record.writing(), pytest.raises(UserError, match="still looks through its training data"):
        runs.delete(copy.id)
    runs.delete(copy.id)
    assert [*other.parent.iterdir()] == [other]
    assert runs.restore(copy.id).state == "finished"


SERVER = """
import sys, time
from dmlviz.cleaning.decisions import cleaning
from dmlviz.jobs.scheduler import JobScheduler
from pathlib import Path
jobs = JobScheduler(Path(sys.argv[1]), slots=1, inference=False)
jobs.submit(cleaning(jobs.runs, jobs.runs.get(sys.argv[2])))
while not (active := [worker.pid for worker in jobs.turns.active]):
    time.sleep(0.02)
print(active[0], flush=True)
time.sleep(600)
"""


def test_it_ends_with_a_server_that_is_killed_and_says_so(finished, alive, until, tmp_path):
    folder = finished.path.parent
    record = CleaningRecord.of(finished, Runs(folder))
    record.log.path.unlink(missing_ok=True)
    server = subprocess.Popen([sys.executable, "-c", SERVER, folder, finished.id], stdout=subprocess.PIPE, text=True)
    try:
        worker = int(server.stdout.readline())
        os.kill(worker, signal.SIGSTOP)  # so that it cannot be done before
        until(lambda: alive(worker))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
        server.stdout.close()
    os.kill(worker, signal.SIGCONT)
    until(lambda: not alive(worker))
    again = JobScheduler(folder, slots=1, warm=False)
    try:
        assert again.status(record).phase == "interrupted"
        again.submit(cleaning(again.runs, finished))
        until(lambda: again.status(record).phase == "finished")
    finally:
        again.close()
