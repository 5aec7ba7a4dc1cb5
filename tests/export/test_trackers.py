"""A run that is logged in a tracker has its settings, curves, scores and map there."""

import errno
import os
import sys

import pytest

from dmlviz.errors import UserError
from dmlviz.export import RunExport
from dmlviz.export.trackers import TRACKERS, log_run, settings, tensorboard_run, values_by_step
from dmlviz.runs.store import Runs


@pytest.fixture(scope="module")
def map_at_r(run):
    """MAP@R of the validation images by step, and of the test images at the end."""
    snapshots = [event for event in run.events() if event["event"] == "snapshot"]
    by_step = {event["step"]: event["metrics"]["map_at_r"] for event in snapshots}
    return by_step | {run.config.steps: run.validation_metrics["map_at_r"]}, run.metrics["map_at_r"]


def test_settings_are_flat_and_complete(run):
    assert settings(run)["loss_params.margin"] == run.config.loss_params["margin"]
    assert settings(run)["steps"] == run.config.steps


def test_values_are_those_of_the_events(run, map_at_r):
    points = list(values_by_step(run))
    assert {
        point.step: point.values["validation/map_at_r"] for point in points if "validation/map_at_r" in point.values
    } == (map_at_r[0])
    assert points[-1].values["test/map_at_r"] == map_at_r[1]
    assert points[-1].values["train/map_at_r"] == run.end["train_metrics"]["map_at_r"]
    assert [point.step for point in points] == sorted(point.step for point in points)


def test_tensorboard_reads_scalars_and_embeddings(run, kept, map_at_r, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    folder = log_run("tensorboard", RunExport.from_run(run), str(tmp_path))
    events = accumulator.EventAccumulator(folder)
    events.Reload()
    read = {scalar.step: scalar.value for scalar in events.Scalars("validation/map_at_r")}
    assert read == pytest.approx(map_at_r[0])
    assert events.Scalars("test/map_at_r")[0].value == pytest.approx(map_at_r[1])
    (vectors,) = tmp_path.rglob("tensors.tsv")
    assert len(vectors.read_text().splitlines()) == len(kept.embeddings)
    assert vectors.with_name("sprite.png").is_file()
    with pytest.raises(UserError, match="logged there already"):
        log_run("tensorboard", kept, str(tmp_path))


def test_a_folder_that_cannot_be_written_is_a_sentence_and_leaves_nothing(run, kept, tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be written \(not a directory\): name another folder"):
        log_run("tensorboard", kept, str(tmp_path / "file"))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tensorboard_run, "values_by_step", full)
    with pytest.raises(UserError, match="no space left on device"):
        log_run("tensorboard", kept, str(tmp_path))
    assert not (tmp_path / run.id).exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
def test_mlflow_has_params_metrics_and_the_map(run, kept, map_at_r, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes it four seconds to set up
    target = tmp_path.as_uri()
    assert log_run("mlflow", kept, target).endswith(f"mlflow ui --backend-store-uri {target}")
    client = mlflow.MlflowClient(tracking_uri=target)
    (logged,) = client.search_runs([client.get_experiment_by_name("dmlviz").experiment_id])
    assert logged.data.params["loss_params.margin"] == "0.3"
    history = {
        metric.step: metric.value for metric in client.get_metric_history(logged.info.run_id, "validation/map_at_r")
    }
    assert history == pytest.approx(map_at_r[0])
    assert {file.path for file in client.list_artifacts(logged.info.run_id)} == {"map.html", "images.csv"}
    with pytest.raises(UserError, match="already"):
        log_run("mlflow", kept, target)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wandb_keeps_a_run_on_this_machine_when_offline(run, kept, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)
    folder = log_run("wandb", kept, "dmlviz-tests")
    wandb.teardown()  # waits for its process, which writes the file
    (file,) = [name for name in os.listdir(folder) if name.endswith(".wandb")]
    content = (tmp_path / "wandb" / os.path.basename(folder) / file).read_bytes()
    assert b"validation/map_at_r" in content
    assert f"map-{run.id}".encode() in content
    with pytest.raises(UserError, match="logged there already"):
        log_run("wandb", kept, "dmlviz-tests")


def test_a_server_that_does_not_answer_is_a_sentence(kept):
    with pytest.raises(UserError, match="No MLflow server answers"):
        log_run("mlflow", kept, "http://127.0.0.1:9")


@pytest.mark.parametrize("target", ["./mlruns", "file:///tmp/mlruns", "mlflow.db", "sqlite://", "redis://here/1"])
def test_what_mlflow_has_no_place_for_is_a_sentence(kept, target):
    with pytest.raises(UserError, match=r"a server \(http://127.0.0.1:5000\) or of a database \(sqlite:///mlflow.db\)"):
        log_run("mlflow", kept, target)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_database_that_mlflow_cannot_open_is_a_sentence(kept, tmp_path):
    pytest.importorskip("mlflow")
    (tmp_path / "other.db").write_bytes(b"no database" * 100)
    with pytest.raises(UserError, match=r"refused the run: \(sqlite3.DatabaseError\) file is not a database$"):
        log_run("mlflow", kept, f"sqlite:///{tmp_path}/other.db")


@pytest.mark.parametrize("name", list(TRACKERS))
def test_without_the_library_a_sentence_names_the_extra(name, kept, monkeypatch):
    monkeypatch.setitem(sys.modules, TRACKERS[name].library, None)
    with pytest.raises(UserError, match=rf"dmlviz\[{TRACKERS[name].extra}\]"):
        log_run(name, kept)


def test_a_run_that_trains_is_refused(run, tmp_path):
    other = Runs(tmp_path).create(run.config)
    with pytest.raises(UserError, match="has no end"):
        log_run("tensorboard", RunExport(other), str(tmp_path))
