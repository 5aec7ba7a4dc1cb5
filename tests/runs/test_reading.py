"""A run is readable at any moment, also while it trains and after an interruption."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dmlviz.errors import UserError
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.storage.files import EventLog, atomic_write
from dmlviz.training.events import Failed
from tests.waiting import at_once


def test_a_run_cut_off_at_any_byte_of_its_log_is_readable_up_to_its_last_event(runs, write):
    run = write(runs)
    whole = run.log.path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for cut in [*range(0, len(whole), 7), *(end - 1 for end in ends), *ends]:
        run.log.path.write_bytes(whole[:cut])
        events = run.events()
        assert events == [json.loads(line) for line in whole[:cut].split(b"\n")[:-1]]
        assert run.state == ("finished" if cut == len(whole) else "interrupted")
        assert len(run.follow().read_new()) == len(events)


def test_an_event_after_a_torn_line_stands_on_a_line_of_its_own(tmp_path):
    log = EventLog(tmp_path / "events.jsonl")
    log.append({"event": "a"})
    with open(log.path, "ab") as file:
        file.write(b'{"event":"to')
    assert [event["event"] for event in log.events()] == ["a"]
    log.append({"event": "b"})
    assert [event["event"] for event in log.events()] == ["a", "b"]
    log.path.write_bytes(b'{"ev')
    log.append({"event": "c"})
    assert log.events() == [{"event": "c"}]


def test_the_end_is_found_behind_a_very_long_line(tmp_path):
    log = EventLog(tmp_path / "events.jsonl")
    log.append({"event": "replay", "frames": ["x" * 100] * 1000})
    assert log.last() is None
    log.append({"event": "finished"})
    assert log.last() == {"event": "finished"}


def test_a_file_that_is_not_finished_does_not_appear(tmp_path):
    (tmp_path / "run.json").write_text("old")

    def break_off():
        with atomic_write(tmp_path / "run.json") as file:
            file.write(b"ne")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert (tmp_path / "run.json").read_text() == "old"


@pytest.mark.slow
def test_a_run_is_running_while_its_process_lives_and_cut_off_after(runs, small):
    run = runs.create(small)
    assert run.state == "interrupted"
    script = (
        "import sys, time; from dmlviz.runs import Run; from dmlviz.runs.record_writer import RecordWriter\n"
        "with RecordWriter(Run(sys.argv[1])) as writer:\n"
        "    writer.event({'event': 'preparing', 'dataset': 'digits', 'done': 0, 'total': 1})\n"
        "    print('on', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(run.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"on\n"
        assert run.state == "running"
        with pytest.raises(UserError, match="Another process"), RecordWriter(run):
            pass
        with pytest.raises(UserError, match="still training"):
            runs.delete(run.id)
        process.send_signal(signal.SIGKILL)
    assert run.state == "interrupted"
    assert [event["event"] for event in run.events()] == ["preparing"]


def test_many_who_ask_at_once_do_not_see_each_other_as_the_writer(runs, told, write):
    run, seen = write(runs, events=list(told())[:3]), set()

    def ask():
        for _ in range(200):
            seen.add(run.state)

    at_once(*[ask] * 6)
    assert seen == {"interrupted"}


def test_a_follower_gives_each_whole_line_once(runs, small):
    run = runs.create(small)
    follower = run.follow()
    assert follower.read_new() == []
    run.log.append({"event": "a"})
    run.log.append({"event": "b"})
    assert [number for number, _ in follower.read_new()] == [0, 1]
    with open(run.log.path, "ab") as file:
        file.write(b'{"event":')
    assert follower.read_new() == []
    with open(run.log.path, "ab") as file:
        file.write(b'"c"}\n')
    assert follower.read_new() == [(2, '{"event":"c"}')]
    assert follower.read_new() == []


def test_the_same_request_again_begins_with_a_clean_folder(runs, small, told, write):
    first = write(runs, events=[*list(told())[:5], Failed(step=2, reason="no more")])
    assert first.state == "failed"
    kept = next(event["frame"] for event in first.events() if event.get("frame"))
    follower = first.follow(after=3)
    assert [number for number, _ in follower.read_new()] == [3, 4, 5, 6]  # the failure, and the alarm before it
    again = runs.create(small)
    assert again.path == first.path
    assert again.events() == []
    assert again.snapshot_steps == []
    assert len(again.frame(kept["id"])) == kept["n"] * 4, "a page that still shows the old run asks for its frames"
    assert follower.read_new() == []
    again.log.append({"event": "started"})
    assert [(number, json.loads(line)) for number, line in follower.read_new()] == [(0, {"event": "started"})]
    assert [path.name for path in runs.folder.iterdir()] == [small.id]


def test_a_path_is_enough_to_read_a_run(runs, write):
    run = write(runs)
    assert Run(str(run.path)).state == "finished"


def test_a_run_that_writes_its_images_while_they_are_asked_for_is_not_damaged(runs, write, monkeypatch):
    run = write(runs)
    hidden = {name: (run.path / name).read_bytes() for name in ("labels.npy", "tracked.npy")}
    for name in hidden:
        (run.path / name).unlink()
    exists = Path.exists

    def written_meanwhile(path, **options):
        for name, content in hidden.items():
            (run.path / name).write_bytes(content)
        return exists(path, **options)

    assert run.tracked_indices is None
    monkeypatch.setattr(Path, "exists", written_meanwhile)
    assert len(run.tracked_indices) > 0
