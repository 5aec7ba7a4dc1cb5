"""Trials of studies on the machines of a fleet: what they write comes back, checked."""

import io
import json
import zipfile
from dataclasses import asdict

import pytest

from dmlviz.errors import UserError
from dmlviz.fleet import MachineLostError
from dmlviz.fleet.live_record import LiveTrial
from dmlviz.fleet.machine import pack_trial
from dmlviz.jobs.order import trial
from dmlviz.labs.lab_study import plan_trials

STARTED, FINISHED = (
    {"event": "started", "time": 1.0},
    {"event": "finished", "values": {"y": 1}, "seconds": 2.0, "time": 3.0},
)


def record_of(path, *events):
    record = trial(path, "counting", {"name": "trial_1"}, "study/trial_1").begin()
    for event in events:
        record.log.append(event)
    return record


def zipped(**files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return file.getvalue()


def events(*told):
    return "".join(json.dumps(event) + "\n" for event in told)


def test_a_packed_trial_arrives_whole_and_its_order_stays(tmp_path):
    there = record_of(tmp_path / "there", STARTED, FINISHED)
    (there.path / "arrays").mkdir()
    (there.path / "arrays" / "points.npz").write_bytes(b"numbers")
    here = record_of(tmp_path / "here")
    order = here.order | {"mine": True}
    (here.path / "order.json").write_text(json.dumps(order))
    live = LiveTrial(here)
    lines = [line.decode() for line in there.log.lines()]
    assert not live.write({"first": 1, "lines": lines[1:], "files": {}, "info": {}})  # a line is missing before it
    assert live.write({"first": 0, "lines": lines, "files": {}, "info": {}})
    assert here.end is None  # until all has come
    live.finish(pack_trial(there))
    assert here.end["values"] == {"y": 1}
    assert here.log.lines() == there.log.lines()
    assert (here.path / "arrays" / "points.npz").read_bytes() == b"numbers"
    assert here.order == order


@pytest.mark.parametrize(
    "name",
    ["..__up.npz", "__etc__x.npz", ".hidden.npz", "a.py", "order.json", "a__b__c__d__e.npz", "events.jsonl.npz "],
)
def test_a_file_that_no_trial_has_is_refused(name, tmp_path):
    live = LiveTrial(record_of(tmp_path / "here"))
    with pytest.raises(UserError, match="no file"):
        live.finish(zipped(**{"events.jsonl": events(STARTED, FINISHED), name: "x"}))
    assert live.record.end is None
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["order.json"]


@pytest.mark.parametrize(
    ("packed", "error", "words"),
    [
        (b"no zip", UserError, "no trial"),
        (zipped(), MachineLostError, "cut off"),
        (zipped(**{"events.jsonl": events(STARTED)}), MachineLostError, "cut off"),
        (zipped(**{"events.jsonl": '{"event": 1}\n'}), UserError, "event"),
        (zipped(**{f"{number}.npz": "" for number in range(1001)}), UserError, "larger"),
    ],
)
def test_what_is_no_whole_trial_is_said_in_a_sentence(packed, error, words, tmp_path):
    with pytest.raises(error, match=words):
        LiveTrial(record_of(tmp_path / "here")).finish(packed)


def trial_of_two_domains(name, path, **settings):
    """A trial of that lab that has not begun, with some settings of its own."""
    planned = next(each for each in plan_trials("two-domains", "quick", "digits", []) if name in each.name)
    return trial(path, "two-domains", asdict(planned) | {"settings": {**planned.settings, **settings}}, f"study/{name}")


def test_a_trial_of_a_lab_is_done_over_dask(jobs, until, tmp_path):
    record = jobs.submit(trial_of_two_domains("pixels", tmp_path / "trial"))
    until(lambda: not jobs.owners_of(record))
    assert record.end["event"] == "finished", record.end
    assert record.end["values"]


def test_a_trial_whose_machine_dies_is_begun_again_on_the_other(jobs, machines, start_worker, until, tmp_path):
    record = jobs.submit(trial_of_two_domains("shared", tmp_path / "trial", steps=500_000))  # until it is stopped

    def machine():
        return next(
            (worker.machine for worker, job in jobs.turns.active.items() if job.record.path == record.path), None
        )

    until(record.log.lines)
    lost, begun = machine(), record.events()[0]["time"]
    machines.pop(lost).kill()
    until(lambda: machine() in machines)
    until(record.log.lines)
    assert record.events()[0]["event"] == "started"
    assert record.events()[0]["time"] > begun
    jobs.stop(record)
    until(lambda: not jobs.owners_of(record))
    assert record.end["event"] == "stopped"
    assert [event["event"] for event in record.events()].count("started") == 1
    machines[lost] = start_worker(jobs.fleet.address, lost)
    until(lambda: len(jobs.fleet.machines) == 2)
