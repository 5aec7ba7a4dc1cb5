"""A training that diverged, and a recorded one: each way to ask of it says what happened and what can still be done."""

import json
import warnings

import numpy as np
import pytest

import dmlviz
from dmlviz import TrainConfig
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.jobs import order
from dmlviz.runs.embed import embed
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.store import Runs
from dmlviz.training.events import Failed, Snapshot, Started

ASKED = {
    "embeddings": lambda runs, run: run.embeddings_at(None),
    "projection": lambda runs, run: order.projection(runs, run.id, ProjectionConfig()),
    "export": lambda runs, run: RunExport(run).embeddings,
    "neighbors": lambda runs, run: run.all_neighbors(),
    "net": lambda runs, run: embed(run, np.zeros((1, 8, 8), np.uint8)),
}


@pytest.fixture(scope="module")
def diverged(tmp_path_factory):
    runs = Runs(tmp_path_factory.mktemp("runs"))
    run = runs.create(TrainConfig(dataset="digits", steps=9), "digits")
    points = np.random.default_rng(0).normal(size=(20, 64)).astype(np.float32)
    tracked = np.arange(20)
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, np.arange(40) % 10)
        recorder.write(Started(steps=9, tracked_indices=tracked, train_images=9, test_images=40, device="", threads=1))
        recorder.write(Snapshot(step=4, embeddings=points, metrics={}))
        recorder.write(Failed(step=5, reason="The training diverged: step 5 gave a loss of nan. Lower the rate."))
    return runs, Run(run.path)


@pytest.mark.parametrize("asked", ASKED)
def test_a_diverged_run_says_so_and_what_is_kept(diverged, asked):
    with pytest.raises(UserError, match=r"diverged: step 5 .*Lower the rate\. Its snapshots up to step 4 are kept"):
        ASKED[asked](*diverged)


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), np.float32("nan")])
def test_a_recorded_loss_that_is_no_number_raises_the_alarm_of_a_trained_one(loss, tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with dmlviz.record("nan", labels=[0, 1, 0, 1], runs=tmp_path) as recording:
            recording.snapshot(0, np.random.default_rng(0).normal(size=(4, 3)))
            for step in range(1, 4):
                recording.step(step, None if step == 1 else loss)
        run = recording.run
    assert [str(warning.message) for warning in told if "diverged" in str(warning.message)]
    events = [json.loads(line) for line in (run.path / "events.jsonl").read_text().splitlines()]
    (alarm,) = (event for event in events if event["event"] == "alarm")
    assert (alarm["alarm"], alarm["sentence"]) == (
        "diverging",
        "Training diverged at step 2: its loss is not a finite number.",
    )
