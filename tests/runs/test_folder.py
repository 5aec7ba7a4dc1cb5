"""The folder of all runs, and the bundled runs."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.files import file_named
from dmlviz.runs.run import RunNotFoundError
from dmlviz.runs.store import Runs
from dmlviz.training.diagnostics import TrainingMonitor
from dmlviz.training.events import Snapshot
from dmlviz.training.suggestions import suggestions


@pytest.mark.parametrize(
    "name", ["../runs", "..", "", "/etc", "0" * 15, "0" * 17, "ABCDEF0123456789", "0" * 15 + "/", "0" * 16 + "\n", None]
)
def test_an_id_cannot_lead_out_of_the_folder(runs, name, write):
    run = write(runs)
    with pytest.raises(RunNotFoundError):
        runs.get(name)
    with pytest.raises(RunNotFoundError):
        run.frame(name)
    with pytest.raises(RunNotFoundError):
        run.projection(name)


def test_a_run_is_found_by_its_id_or_by_a_title_that_no_other_has(runs, small):
    first = runs.create(small, "nolab")
    assert runs.find("nolab").id == runs.find(first.id).id == first.id
    with pytest.raises(RunNotFoundError, match="There is no run 'nolab': a run is named by its ID"):
        runs.get("nolab")
    with pytest.raises(RunNotFoundError, match="There is no run 'other'"):
        runs.find("other")
    second = runs.create(small.model_copy(update={"seed": 5}), "nolab")
    with pytest.raises(UserError, match=f"^2 runs are called 'nolab': give the ID of one: .*{second.id}"):
        runs.find("nolab")


def test_latest_is_the_newest_run_of_ones_own_or_one_of_that_title(runs, small, write):
    with pytest.raises(RunNotFoundError):
        runs.find("latest")
    write(runs, small)
    newest = write(runs, small.replace(seed=8))
    assert runs.find("latest").id == newest.id == runs.list()[0].id
    runs.rename(runs.list()[1].id, "latest")
    assert runs.find("latest").id != newest.id


def test_the_runs_are_those_of_the_app_unless_a_folder_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("DMLVIZ_RUNS", str(tmp_path / "mine"))
    assert Runs().folder == tmp_path / "mine"
    assert Runs(str(tmp_path)).folder == tmp_path


def test_what_is_not_there_is_said(runs, small):
    with pytest.raises(RunNotFoundError, match="There is no run '0123456789abcdef'"):
        runs.get("0123456789abcdef")
    assert runs.list() == []
    run = runs.create(small)
    with pytest.raises(RunNotFoundError, match="no frame"):
        run.frame("0" * 16)
    with pytest.raises(RunNotFoundError, match="no snapshot at step 3"):
        run.snapshot(3)
    assert (run.embeddings, run.labels, run.tracked_indices, run.linear_projection, run.metrics) == (
        None,
        None,
        None,
        None,
        {},
    )
    assert run.snapshot_steps == []


@pytest.fixture
def bundled(runs, small, write):
    """A ready-made run, and `runs` without any of its own."""
    run = write(Runs(runs.bundled, bundled=runs.folder), small.replace(seed=7))
    return runs.get(run.id)


def test_runs_that_come_with_the_program_are_listed_last_and_only_read(runs, bundled, write):
    own = write(runs)
    assert [run.id for run in runs.list()] == [own.id, bundled.id]
    assert runs.is_bundled(bundled)
    assert not runs.is_bundled(own)
    for change in (lambda: runs.delete(bundled.id), lambda: runs.rename(bundled.id, "mine")):
        with pytest.raises(UserError, match="ready-made run"):
            change()
    assert bundled.path.exists()


def test_a_projection_of_a_ready_made_run_goes_to_a_copy(runs, bundled):
    config = ProjectionConfig(method="tsne")
    projection = runs.create_projection(bundled, config)
    assert projection.config == config
    assert projection.path.is_relative_to(runs.folder)
    assert not (bundled.path / "projections").exists()
    copy = runs.get(bundled.id)
    assert not runs.is_bundled(copy)
    assert [one.id for one in copy.projections()] == [config.id]
    assert copy.projection(config.id).state == "interrupted"
    np.testing.assert_array_equal(copy.embeddings, bundled.embeddings)
    assert [run.id for run in runs.list()] == [bundled.id]


def test_a_run_can_be_renamed_and_deleted(runs, small, write):
    run = write(runs)
    runs.rename(run.id, "  My \n first  ")
    assert runs.get(run.id).title == "My first"
    assert runs.get(run.id).config == small
    with pytest.raises(UserError, match="needs a title"):
        runs.rename(run.id, "  ")
    runs.delete(run.id)
    assert runs.list() == []
    assert list(runs.folder.glob("[!.]*")) == []


def test_a_run_that_cannot_be_read_stands_apart_and_breaks_no_other(runs, write):
    run = write(runs)
    for name, text in [("0" * 16, "{"), ("1" * 16, '{"config":{"loss":"gone"}}'), ("notes", "{}"), ("2" * 16, "[]")]:
        (runs.folder / name).mkdir()
        (runs.folder / name / "run.json").write_text(text)
    assert [one.id for one in runs.list()] == [run.id]
    assert {one.id for one in runs.damaged()} == {"0" * 16, "1" * 16, "2" * 16}
    with pytest.raises(RunNotFoundError, match=r"run.json of run 0000000000000000 cannot be read: invalid JSON"):
        runs.get("0" * 16)


def test_a_damaged_file_says_what_is_lost_and_what_to_do(tmp_path):
    for file, remedy in (
        ("projections/0/events.jsonl", "Delete its folder in"),
        ("labels.npy", "What needs it is lost"),
    ):
        assert f"cannot be read: cut. {remedy}" in str(DamagedFileError(tmp_path / ("0" * 16) / file, "cut"))


def test_a_run_that_cannot_be_read_is_deleted_and_comes_back_as_it_was(runs, write):
    run = write(runs)
    (run.path / "run.json").write_text("{")
    runs.delete(run.id)
    assert runs.damaged() == ()
    assert runs.restore(run.id).title == f"Damaged run {run.id[:6]}"
    assert [one.id for one in runs.damaged()] == [run.id]


@pytest.mark.parametrize(
    ("created", "rule"), [("2026-02-30T00:00:00+00:00", "a moment is"), ("0001-01-01T00:00:00+00:00", "a moment is")]
)
def test_a_run_with_a_date_that_is_none_does_not_break_the_list(runs, write, created, rule):
    run = write(runs)
    (run.path / "run.json").write_text(json.dumps(run.info | {"created": created}))
    assert runs.list() == []
    assert rule in runs.damaged()[0].error.reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_made_is_said(tmp_path, small):
    tmp_path.chmod(0o500)
    with pytest.raises(UserError, match="Cannot create"):
        Runs(tmp_path / "runs").create(small)


def test_a_file_in_the_way_of_the_folder_is_said(tmp_path, small):
    (tmp_path / "runs").write_text("")
    with pytest.raises(UserError, match="Cannot create"):
        Runs(tmp_path / "runs").create(small)


@pytest.mark.parametrize("fails", [False, True])
def test_the_ready_made_runs_play_without_anything_else(tmp_path, fails):
    runs = [run for run in Runs(tmp_path).list() if bool(run.info.get("fails")) is fails]
    assert len(runs) == 2
    for run in runs:
        assert run.state == "finished"
        assert run.id == run.config.id, "the config has changed: make the ready-made runs again"
        assert run.config.dataset == "digits"  # the one that needs no download
        replay = next(event for event in run.events() if event["event"] == "replay")
        assert len(replay["frames"]) >= (15 if fails else 30)
        assert all(len(run.frame(frame["id"])) == frame["n"] * 4 for frame in replay["frames"])
        assert len(run.neighbors(0, 10)) == 10
        files = [path for path in run.path.rglob("*") if file_named(path.relative_to(run.path).as_posix())]
        size = sum(path.stat().st_size for path in files if path.is_file())  # without what an answer keeps beside them
        assert size < (500_000 if fails else 2_400_000)
        if not fails:
            assert len(run.checkpoint_steps) == 6  # nets by which a picture's way is drawn
            assert run.linear_projection.kind == replay["view"] == "plane"
            assert run.metrics["precision_at_1"] > 0.9


def test_the_runs_that_fail_on_purpose_do_so_by_name_and_offer_a_way_out(tmp_path):
    failing = [run for run in Runs(tmp_path).list() if run.info.get("fails")]
    for run in failing:
        assert run.title.startswith("Fails: ")
        alarms = [event for event in run.events() if event["event"] == "alarm"]
        assert [event["alarm"] for event in alarms] == ["collapsed"]
        assert alarms[0]["remedies"] == [remedy.label for remedy in suggestions("collapsed", run.config)]
        monitor, said = TrainingMonitor(run.config), {}
        for event in run.events():
            if event["event"] == "snapshot":
                raised, _ = monitor.update(
                    Snapshot(step=event["step"], embeddings=np.zeros((0, 2)), metrics=event["metrics"])
                )
                said |= {alarm.name: alarm.message for alarm in raised}
        assert alarms[0]["sentence"] == said["collapsed"], "the words have changed: make the ready-made runs again"
        assert not [event for event in run.events() if event["event"] == "alarm_over"]


@pytest.mark.slow
def test_a_run_that_begins_again_is_there_at_every_moment(tmp_path):
    runs = Runs(tmp_path)
    run = runs.create(TrainConfig(dataset="digits", steps=1)).id
    missing, over = [], threading.Event()

    def look():
        while not over.is_set():
            try:
                runs.get(run)
            except UserError as error:
                missing.append(error)

    with ThreadPoolExecutor(1) as reader:
        looking = reader.submit(look)
        for _ in range(100):
            runs.begin_again(run, "gpu-1 was lost.")
        over.set()
        looking.result()
    assert missing == []
