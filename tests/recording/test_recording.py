"""A training of another program becomes a run, also when it crashes, is killed, or the disk is full."""

import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore

from dmlviz.config import ProjectionConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.metrics import evaluate
from dmlviz.recording import RecordingWarning, record, run_writer, writer_handle
from dmlviz.recording.recording import NOT_CLOSED, exit_reason
from dmlviz.recording.run_writer import GrowingAverager, RunPlan, RunWriter
from dmlviz.recording.writer_handle import WriterHandle
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.damage import check
from dmlviz.runs.run import RunNotFoundError
from dmlviz.runs.run_recorder import MAX_CURVE_POINTS
from dmlviz.runs.store import Runs
from dmlviz.training.events import Step
from tests.waiting import until

pytestmark = pytest.mark.slow

LABELS = np.arange(60) % 4


def walk(steps: int, d: int = 8, seed: int = 0):
    """Embeddings that grow apart by class."""
    rng = np.random.default_rng(seed)
    centers, noise = rng.normal(size=(4, d)), rng.normal(size=(60, d))
    return [(centers[LABELS] * i + noise).astype(np.float32) for i in range(steps)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording that went well, and the embeddings of its snapshots."""
    folder = tmp_path_factory.mktemp("recorded")
    images = np.arange(60 * 64, dtype=np.uint8).reshape(60, 1, 8, 8)
    shown = walk(4)
    with record(
        "walk", labels=LABELS, images=images, classes="abcd", steps=31, runs=folder / "runs", data=folder
    ) as recording:
        recording.step(0, 3.0)  # before the first snapshot
        for i, embeddings in enumerate(shown):
            recording.snapshot(10 * i, embeddings, loss=1 / (i + 1))
    return recording, shown, images


def test_a_recording_is_a_run_like_any_other(recorded):
    recording, shown, _ = recorded
    run = recording.run
    assert (run.title, run.state, run.steps, run.recorded) == ("walk", "finished", 30, True)
    assert run.snapshot_steps == [0, 10, 20, 30]
    for i, embeddings in enumerate(shown):
        np.testing.assert_array_equal(run.snapshot(10 * i), embeddings)
    np.testing.assert_array_equal(run.embeddings, shown[-1])
    np.testing.assert_array_equal(run.labels, LABELS)
    assert run.metrics == pytest.approx(evaluate(shown[-1], LABELS))
    losses = [(event["step"], event["loss"]) for event in run.events() if event["event"] == "step"]
    assert losses == [(0, 3.0), (10, 0.5), (20, pytest.approx(1 / 3, 1e-5)), (30, 0.25)]
    started = run.events()[0]
    assert (started["steps"], started["tracked"], started["scored_images"]) == (31, 60, 60)
    assert [frame["step"] for frame in run.events()[-2]["frames"]] == [0, 10, 20, 30]
    assert [*check(run, thorough=True)] == []
    assert run.neighbors(5, 3, step=10)[0].label in range(4)


def test_a_map_follows_with_a_layout_of_each_snapshot(tmp_path):
    with record("walk", labels=LABELS, runs=tmp_path, projection="pca") as recording:
        for step, embeddings in enumerate(walk(4)):
            recording.snapshot(step, embeddings)
    (projection,) = recording.run.projections()
    assert projection.config == ProjectionConfig(method="pca", follow=True)
    assert ([*projection.layouts], projection.state) == ([0, 1, 2, 3], "finished")
    assert projection.coordinates.shape == (60, 2)


def test_a_map_that_follows_into_a_collapse_keeps_its_last_layout_and_says_why(tmp_path):
    drawn = ProjectionConfig(method="umap", params={"neighbors": 5}, seed=3)
    recording = record("walk", labels=LABELS, runs=tmp_path, projection=drawn)
    for step, embeddings in enumerate([*walk(2), np.ones((60, 8), np.float32)]):
        recording.snapshot(step, embeddings)
    recording.close()
    with pytest.warns(RecordingWarning, match="All 60 embeddings are equal"):
        (projection,) = recording.run.projections()
    assert projection.config == drawn.replace(follow=True)
    assert ([*projection.layouts], projection.state) == ([0, 1, 2], "stopped")
    assert projection.end["reason"].startswith("All 60 embeddings are equal")
    assert projection.end["reason"].endswith("The last layout stays.")
    notes = [event.get("note", "") for event in projection.events() if event["event"] == "frame"]
    assert ["collapsed" in note for note in notes] == [False, False, True]
    before, last = (projection.positions(projection.layouts[step]) for step in (1, 2))
    assert np.abs(last - before).max() < 0.01 * np.ptp(before)


def test_a_map_that_cannot_follow_is_refused_before_the_training(tmp_path):
    for drawn, message in (("mds", "no projection called 'mds'"), ("fan", "follow is for PCA"), (3, "got int")):
        with pytest.raises(UserError, match=message):
            record("walk", labels=LABELS, runs=tmp_path, projection=drawn)


def test_its_images_are_a_data_set_on_which_nothing_is_trained(recorded, tmp_path):
    recording, _, images = recorded
    folder = recording.run.path.parent.parent
    data = load(recording.run.config.dataset, folder)
    np.testing.assert_array_equal(data.test.images, images[:, 0])
    assert (data.classes, len(data.train)) == (("a", "b", "c", "d"), 0)
    with pytest.raises(UserError, match="embedded by another program and cannot be trained on here"):
        recording.run.config.replace(steps=10)


def test_labels_are_optional_where_there_are_images(recorded, tmp_path):
    _, shown, images = recorded
    with record("walk", images=images, runs=tmp_path / "runs", data=tmp_path) as recording:
        for step in (0, 1):
            recording.snapshot(step, shown[step], loss=1.0)
    run = recording.run
    assert (run.state, run.snapshot_steps, run.metrics) == ("finished", [0, 1], {})
    assert load(run.config.dataset, tmp_path).classes == ("no label",)
    assert [*check(run, thorough=True)] == []
    with pytest.raises(UserError, match="needs labels or images"):
        record("walk", runs=tmp_path / "runs")
    with pytest.raises(UserError, match="needs a title; got None"):
        record(None, labels=LABELS)


def test_it_can_be_passed_on_and_stays_apart_from_others_of_the_same_images(recorded, tmp_path):
    recording, shown, _ = recorded
    run, runs = recording.run, Runs(tmp_path)
    with open(tmp_path / "run.zip", "w+b") as file:
        export_run(run, file)
        file.seek(0)
        imported = import_run(file, runs)
    assert imported.id == run.id
    plan = RunPlan(tmp_path, "another", "0123456789abcdef", run.info["dataset"])
    with RunWriter(plan, LABELS, shown[0]) as writer:
        writer.snapshot(0, shown[0])
    assert writer.run.id != run.id
    assert writer.run.config == run.config


def test_a_writer_that_is_behind_leaves_scores_out(tmp_path, recorded):
    first, second = walk(2)
    plan = RunPlan(tmp_path, "behind", "0" * 16, recorded[0].run.info["dataset"])
    with RunWriter(plan, LABELS, first) as writer:
        writer.snapshot(0, first, scored=False)
        writer.snapshot(1, second)
        assert writer.run.state == "running"
    assert writer.run.state == "interrupted"
    snapshots = [event for event in writer.run.events() if event["event"] == "snapshot"]
    assert [bool(event["metrics"]) for event in snapshots] == [False, True]
    assert writer.run.events()[0]["steps"] is None


def test_all_embeddings_are_on_disk_before_they_are_scored(tmp_path, recorded, monkeypatch):
    monkeypatch.setattr(run_writer, "MAX_SCORED", 30)
    (last,) = walk(1)
    plan = RunPlan(tmp_path, "many", "0" * 16, recorded[0].run.info["dataset"])
    with RunWriter(plan, LABELS, last) as writer:
        writer.snapshot(0, last)
        writer.store()
        np.testing.assert_array_equal(writer.run.embeddings, last)
        assert writer.run.state == "running"
        writer.end("", 0.0, 0.0)
    run = writer.run
    assert (run.state, run.metrics["queries"]) == ("finished", 30 * 30 // 60)  # of more, a sample that searches all
    assert [*check(run, thorough=True)] == []


SLOW = """
import pathlib, sys, time
sys.stdin.read()
print('{{"stored": true}}', flush=True)
while not pathlib.Path(SCORED).exists():
    time.sleep(.01)
print('{{"trouble": "told late"}}', flush=True)
"""


def test_closing_waits_for_the_embeddings_and_not_for_the_scores(tmp_path, recorded, monkeypatch):
    scored = tmp_path / "scored"
    monkeypatch.setattr(writer_handle, "PROGRAM", SLOW.replace("SCORED", repr(str(scored))))
    handle = WriterHandle(RunPlan(tmp_path, "slow", "0" * 16, {}), LABELS)
    handle.close({"event": "end"})  # the process that writes goes on until the file is there
    assert handle.trouble == ""
    scored.touch()
    handle.wait()
    assert handle.trouble == "told late"


def test_alarms_of_what_is_known(tmp_path, recorded):
    first, second = walk(2)
    plan = RunPlan(tmp_path, "alarms", "0" * 16, recorded[0].run.info["dataset"])
    with RunWriter(plan, LABELS, first) as writer:
        writer.snapshot(0, first)
        for step in range(40):
            writer.step(step, 1.0, None, 0.0)
        writer.snapshot(1, 0 * second)
    alarms = {event["alarm"]: event for event in writer.run.events() if event["event"] == "alarm"}
    assert [*alarms] == ["collapsed"]  # not "inactive": nobody has counted the terms
    assert alarms["collapsed"]["remedies"] == []


def test_a_long_curve_is_averaged():
    means, points = GrowingAverager(), 0
    for step in range(20 * MAX_CURVE_POINTS):
        event = Step(
            step=step, loss=step, active=0, positive_distance=0, negative_distance=0, images_per_second=1,
            cpu_seconds=0,
        )  # fmt: skip
        points += means.add(event) is not None
    assert MAX_CURVE_POINTS < points < 4 * MAX_CURVE_POINTS


CRASH = """
import sys, numpy as np
from dmlviz import record
rng = np.random.default_rng(0)
recording = record("crash", labels=np.arange(60) % 4, runs=sys.argv[1]).__enter__()
for step in range(3):
    recording.snapshot(step, rng.normal(size=(60, 2)))
print("recorded", flush=True)
sys.stdin.read()
"""


def test_a_training_that_is_killed_leaves_a_whole_run(tmp_path):
    command = [sys.executable, "-c", CRASH, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as training:
        assert training.stdout.readline() == b"recorded\n"
        runs = Runs(tmp_path)
        until(lambda: runs.list() and runs.list()[0].snapshot_steps == [0, 1, 2])
        os.kill(training.pid, signal.SIGKILL)
    until(lambda: runs.list()[0].state == "stopped")
    run = runs.list()[0]
    assert run.end["reason"] == "The training process ended without closing the recording."
    assert run.metrics["precision_at_1"] >= 0
    assert [*check(run, thorough=True)] == []


UNCAUGHT = """
import sys, numpy as np
from dmlviz import record
recording = record("uncaught", labels=np.arange(60) % 4, runs=sys.argv[1])
recording.snapshot(0, np.random.default_rng(0).normal(size=(60, 2)))
raise ValueError("no data")
"""


def test_a_training_that_crashes_without_closing_tells_the_reason(tmp_path, monkeypatch):
    done = subprocess.run([sys.executable, "-c", UNCAUGHT, str(tmp_path)], capture_output=True, text=True)
    assert done.stderr.endswith("ValueError: no data\n")
    (run,) = Runs(tmp_path, bundled=tmp_path / "none").list()  # whole, since the program waits for it
    assert (run.state, run.end["reason"]) == ("stopped", "The training ended with ValueError: no data")
    monkeypatch.delattr(sys, "last_value", raising=False)
    assert exit_reason() == NOT_CLOSED
    monkeypatch.setattr(sys, "last_value", ValueError("of another cell"), raising=False)
    monkeypatch.setattr(sys, "ps1", "In : ", raising=False)
    assert exit_reason() == NOT_CLOSED


def test_embeddings_that_are_not_finite_are_left_out_with_one_warning(tmp_path):
    good, bad = walk(1)[0], np.full((60, 8), np.nan)
    with warnings.catch_warnings(record=True) as warned, record("nan", labels=LABELS, runs=tmp_path) as recording:
        warnings.simplefilter("always")
        for step, embeddings in enumerate((good, bad, bad, good)):
            recording.snapshot(step, embeddings, loss=1.0)
    assert [str(warning.message) for warning in warned] == [
        "A snapshot is left out of the recording, and the training goes on. Embeddings are finite; got NaN or infinity "
        "in 60 of 60 rows at step 1 (or numbers beyond 1e150): lower the learning rate, or normalize the embeddings."
    ]
    assert (recording.run.state, recording.run.snapshot_steps) == ("finished", [0, 3])


@pytest.mark.parametrize("told_by", ["torchrun", "torch.distributed"])
def test_of_a_distributed_training_rank_0_records(told_by, tmp_path, monkeypatch):
    if told_by == "torchrun":
        monkeypatch.setenv("RANK", "1")
        monkeypatch.setenv("WORLD_SIZE", "2")
    else:
        distributed.init_process_group("fake", rank=1, world_size=2, store=FakeStore())
    try:
        with record("of rank 1", labels=LABELS, runs=tmp_path) as recording:
            recording.snapshot(0, walk(1)[0], loss=1.0)
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
    assert Runs(tmp_path, bundled=tmp_path / "none").list() == []
    with pytest.raises(RunNotFoundError, match="rank 0 records, and has the run; this one is of rank 1"):
        _ = recording.run


def test_bad_input_ends_the_training_and_keeps_the_run(tmp_path):
    recording = record("steps", labels=LABELS, runs=tmp_path)

    def train() -> None:
        with recording:
            recording.snapshot(5, walk(1)[0])
            recording.snapshot(5, walk(1)[0])

    with pytest.raises(UserError, match="got step 5 after step 5"):
        train()
    run = recording.run
    assert run.state == "stopped"
    assert run.end["reason"].startswith("The training ended with UserError: Steps rise")
    assert run.snapshot_steps == [5]
    with pytest.raises(UserError, match="closed"):
        recording.snapshot(6, walk(1)[0])


def test_where_nothing_can_be_written_the_training_goes_on_with_one_warning(tmp_path):
    (tmp_path / "file").touch()
    recording = record("nowhere", labels=LABELS, runs=tmp_path / "file" / "runs")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for step in range(3):
            recording.snapshot(step, walk(1)[0])
        recording.close()
    (warning,) = warned
    assert warning.category is RecordingWarning
    assert "and the training goes on: Cannot create" in str(warning.message)
