"""What can be asked of runs and vectors: `runs`, `evaluate`, `neighbors`, `project`."""

import re

import numpy as np
import pytest
from rich.console import Console

from dmlviz.cli.evaluate import _scores
from dmlviz.runs.store import Runs


def test_runs_lists_title_scores_and_state(trained, called):
    folder, _ = trained
    code, shown, _ = called("runs", "--runs", folder)
    run = Runs(folder).list()[0]
    assert code == 0
    for word in (run.id, "Small [one]", f"{run.metrics['precision_at_1']:.4f}", "finished", "12 steps"):
        assert word in shown


def test_evaluate_gives_the_scores_that_training_gave(trained, called):
    folder, _ = trained
    run = Runs(folder).list()[0]
    code, shown, _ = called("evaluate", run.id, "--confusion", "--runs", folder)
    assert code == 0
    scores = dict(line.split() for line in shown.splitlines() if re.fullmatch(r"[a-z_0-9]+ +[\d.,]+ *", line))
    for key in ("precision_at_1", "map_at_r", "nmi"):
        assert scores[key] == f"{run.metrics[key]:.4f}"
    assert "roc_auc" in scores
    rows = [line.split() for line in shown.splitlines() if re.fullmatch(r"\d(\s+[\d·]+){10}\s*", line)]
    assert sum(int(count) for row in rows for count in row[1:] if count != "·") == 596


def test_evaluate_gives_seen_and_unseen_classes_a_column_each():
    scores = {"nmi": 0.5, "seen/nmi": 0.75, "unseen/nmi": 0.25}
    with (console := Console(width=80)).capture() as said:
        console.print(_scores(scores))
    assert said.get().split() == "all classes seen classes unseen classes nmi 0.5000 0.7500 0.2500".split()


def test_neighbors_names_others_with_class_and_distance(trained, called):
    folder, _ = trained
    run = Runs(folder).list()[0]
    code, shown, _ = called("neighbors", run.id, 5, "-k", 3, "--runs", folder)
    assert code == 0
    expected = [(str(n.item), str(n.label), f"{n.distance:.4f}") for n in run.neighbors(5, 3)]
    rows = [tuple(line.split()[:3]) for line in shown.splitlines()[-3:]]
    assert rows == expected


def test_project_keeps_a_map_and_writes_every_image_with_its_class(trained, called, tmp_path):
    folder, _ = trained
    run = Runs(folder).list()[0]
    table = tmp_path / "map.csv"
    code, shown, _ = called("project", run.id, "--dims", 3, "--csv", table, "--runs", folder)
    assert code == 0
    drawing = next(drawing for drawing in run.projections() if drawing.config.dims == 3)
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == ["image", "class", "x", "y", "z"]
    assert [int(row[1]) for row in rows[1:]] == run.labels.tolist()
    assert np.allclose([[float(value) for value in row[2:]] for row in rows[1:]], drawing.coordinates)
    assert "trustworthiness 0." in shown


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_project_draws_a_file_of_vectors(called, tmp_path, kind):
    import pyarrow
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    vectors, classes = rng.normal(size=(40, 5)).astype(np.float32), ["ab"[i % 2] for i in range(40)]
    path = tmp_path / f"some.{kind}"
    if kind == "npy":
        np.save(path, vectors)
    else:
        table = pyarrow.table({f"f{i}": vectors[:, i] for i in range(5)} | {"label": classes})
        (csv.write_csv if kind == "csv" else parquet.write_table)(table, path)
    code, shown, _ = called("project", path, "--method", "umap", "--param", "iterations=10")
    assert code == 0
    assert "trustworthiness 0." in shown
    rows = [line.split(",") for line in (tmp_path / "some-umap.csv").read_text().splitlines()]
    assert rows[0] == (["row", "x", "y"] if kind == "npy" else ["row", "class", "x", "y"])
    assert len(rows) == 41
    assert kind == "npy" or [row[1] for row in rows[1:]] == classes


def test_project_draws_by_the_reference_engine_too(called, tmp_path):
    np.save(tmp_path / "some.npy", np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32))
    words = ["project", tmp_path / "some.npy", "--method", "tsne", "--engine", "reference"]
    params = [word for pair in ("metric=cosine", "iterations=250", "perplexity=5") for word in ("--param", pair)]
    code, shown, _ = called(*words, *params)
    assert code == 0
    assert "t-SNE by scikit-learn: trustworthiness 0." in shown
    assert len((tmp_path / "some-scikit-learn.csv").read_text().splitlines()) == 41
    code, _, error = called(*words, "--param", "metric=hamming")
    assert code == 2
    assert "scikit-learn: metric is one of euclidean, cosine" in error


def test_project_draws_the_epochs_of_a_run_as_a_table_with_steps(trained, called, tmp_path):
    folder, _ = trained
    run, table = Runs(folder).list()[0], tmp_path / "film.csv"
    code, _, _ = called("project", run.id, "--all-epochs", "--csv", table, "--runs", folder)
    assert code == 0
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == ["step", "image", "class", "x", "y"]
    assert sorted({int(row[0]) for row in rows[1:]}) == run.embedded_steps
    assert len(rows) == 1 + len(run.embedded_steps) * len(run.tracked_indices)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere/x.npy"], "There is no file"),
        (["broken.npy"], "could not be read as npy"),
        (["broken.npy", "--all-epochs"], "Epochs belong to a run"),
    ],
)
def test_vectors_that_cannot_be_drawn_are_a_sentence(called, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.npy").write_bytes(b"no array")
    code, _, error = called("project", *words)
    assert code == 2
    assert said in " ".join(error.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "tsnee"], "did you mean 'tsne'"),
        (["--param", "x=0"], "x lies between"),
        (["--csv", "/nowhere/map.csv"], "/nowhere/map.csv cannot be written"),
    ],
)
def test_a_map_that_cannot_be_is_a_sentence(trained, called, words, said):
    folder, _ = trained
    code, _, error = called("project", Runs(folder).list()[0].id, *words, "--runs", folder)
    assert code == 2
    assert said in error


@pytest.mark.parametrize("command", [["evaluate", "0" * 16], ["neighbors", "../../etc", "1"], ["project", "x"]])
def test_a_run_that_is_not_there_is_a_sentence(called, tmp_path, command):
    code, _, error = called(*command, "--runs", tmp_path)
    assert code == 2
    assert "There is no run" in error
