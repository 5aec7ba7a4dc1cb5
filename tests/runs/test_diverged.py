"""A training that diverged, was stopped or cut off: each way to ask of it says so, and what can still be done."""

import json
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from dmlviz_app.answers.item_neighbors import item_neighbors
from dmlviz_app.clean.state import why_not
from dmlviz_app.explore.toolbar import export_panel
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.workbench.current_view import RunView
from dmlviz_app.workbench.projection_picker import start_projection

import dmlviz
from dmlviz import TrainConfig
from dmlviz.cleaning.search import find
from dmlviz.cli.neighbors import neighbors
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.jobs import order
from dmlviz.jobs.job import Status
from dmlviz.runs.embed import embed
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.store import Runs
from dmlviz.storage.run_schema.events import EndedEvent
from dmlviz.training.events import Failed, Snapshot, Started

ASKED = {
    "embeddings": lambda runs, run: run.embeddings_at(None),
    "projection": lambda runs, run: order.projection(runs, run.id, ProjectionConfig()),
    "export": lambda runs, run: RunExport(run).embeddings,
    "neighbors": lambda runs, run: run.all_neighbors(),
    "clean": lambda runs, run: find(run, runs.folder),
    "net": lambda runs, run: embed(run, np.zeros((1, 8, 8), np.uint8)),
}


ENDS = {
    "diverged": (
        lambda recorder: recorder.write(
            Failed(step=5, reason="The training diverged: step 5 gave a loss of nan. Lower the rate.")
        ),
        r"The training diverged: step 5 .*Lower the rate",
    ),
    "stopped": (
        lambda recorder: recorder.writer.event(
            EndedEvent(event="stopped", step=5, metrics={}, reason="stopped by hand")
        ),
        "Stopped by hand",
    ),
    "cut off": (lambda recorder: None, "Its training was cut off"),
}


@pytest.fixture(scope="module", params=ENDS)
def ended(tmp_path_factory, request):
    """Runs, one of them with a snapshot and without an end, and what is said of it."""
    runs = Runs(tmp_path_factory.mktemp("runs"))
    run = runs.create(TrainConfig(dataset="digits", steps=9), "digits")
    points = np.random.default_rng(0).normal(size=(20, 64)).astype(np.float32)
    tracked = np.arange(20)
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, np.arange(40) % 10)
        recorder.write(Started(steps=9, tracked_indices=tracked, train_images=9, test_images=40, device="", threads=1))
        recorder.write(Snapshot(step=4, embeddings=points, metrics={}))
        end, said = ENDS[request.param]
        end(recorder)
    return runs, Run(run.path), rf"{said}\. Its snapshots up to step 4 are kept"


@pytest.mark.parametrize("asked", ASKED)
def test_a_run_without_an_end_says_so_and_what_is_kept(ended, asked):
    runs, run, said = ended
    with pytest.raises(UserError, match=said):
        ASKED[asked](runs, run)


def test_the_pages_say_the_same(ended):
    _, run, said = ended
    here = SimpleNamespace(datasets=SimpleNamespace(available=lambda: {"digits"}))
    assert re.search(said, why_not(run, here))
    assert re.search(said, export_panel(RunView(run, Status("failed"), None))["note"])


def test_neighbors_of_the_last_snapshot_are_said_to_be_of_it(ended, capsys):
    runs, run, said = ended
    neighbors(run.id, 3, 2, runs=runs.folder)
    told, error = capsys.readouterr()
    assert "nearest to test image 3" in told
    assert re.search(said, error)
    assert "at step 4, its last snapshot" in error


def test_a_kept_step_is_drawn(ended):
    runs, run, _ = ended
    config = ProjectionConfig(method="pca", step=4)
    order.projection(runs, run.id, config)  # is not refused
    record = runs.create_projection(run, config)
    run_projection(record.path)
    assert record.coordinates.shape == (20, 2)
    assert record.state == "finished"


def test_a_map_that_followed_to_a_bad_end_keeps_its_layouts_and_says_why(ended):
    runs, run, said = ended
    record = runs.create_projection(run, ProjectionConfig(method="pca", follow=True))
    run_projection(record.path)
    assert [*record.layouts] == run.snapshot_steps
    assert record.state == "stopped"
    assert re.fullmatch(
        said.replace("Its snapshots up to step 4 are kept", r"The last layout stays\."), record.end["reason"]
    )


def test_a_map_that_is_asked_for_by_its_name_is_of_the_last_kept_step(ended):
    _, run, said = ended
    asked = []
    here = SimpleNamespace(jobs=SimpleNamespace(project=lambda run, config, **options: asked.append(config)))
    ui = UIState(view="pca")
    start_projection(ui, here, RunView(run, Status("failed"), None))
    assert [config.step for config in asked] == [4]
    assert re.search(said, ui.messages.all()["map.step"])


@pytest.mark.slow
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
        "Training diverged at step 2: its loss or its embeddings are not finite.",
    )


def test_neighbors_say_which_snapshot_they_are_of(ended):
    runs, run, _ = ended
    answer = item_neighbors(run, 3, "euclidean", runs.folder)
    assert answer["step"] == 4
    assert len(answer["near"]) == 10
