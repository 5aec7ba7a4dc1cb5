"""Rows of a table without a label are of no class, whatever is done with the run."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dmlviz
from dmlviz import metrics
from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli.evaluate import app as evaluate_app
from dmlviz.cli.neighbors import app as neighbors_app
from dmlviz.cli.project import app as project_app
from dmlviz.data.embedding_file import EmbeddingTable, validate_vectors
from dmlviz.errors import UserError
from dmlviz.export import RunExport, write
from dmlviz.export.tables import table
from dmlviz.figures.data import MEASURES, measure
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.runs.example_item import example_item
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.point_values import point_values
from dmlviz.runs.store import Runs

GROUP = np.arange(90) % 3
POINTS = 5 * np.random.default_rng(0).normal(size=(3, 6))[GROUP] + np.random.default_rng(1).normal(size=(90, 6)) * 3
KNOWN = np.arange(90) % 2 == 1
NUMBERS = [int(y) if known else None for y, known in zip(GROUP, KNOWN, strict=True)]
WORDS = np.array(list("abc"), object)[GROUP]
MISSING = {
    "None": NUMBERS,
    "NaN": np.where(KNOWN, GROUP, np.nan),
    "NaN among texts": np.where(KNOWN, WORDS, np.nan),
    "NA": pd.array(NUMBERS, "Int64"),
    "NaT": np.where(KNOWN, WORDS, np.datetime64("NaT")),
    "masked": np.ma.MaskedArray(GROUP, ~KNOWN),
    "a category": pd.Series(pd.Categorical(np.where(KNOWN, WORDS, None))),
}
every_kind = pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING)


@pytest.fixture(scope="module")
def half_labeled(tmp_path_factory):
    """A run of 90 rows in three groups, of which every second has a label, and its labels."""
    rng, group = np.random.default_rng(0), np.arange(90) % 3
    labels = np.array(list("abc"), object)[group]
    labels[::2] = None
    vectors = validate_vectors(
        "t", EmbeddingTable(5 * rng.normal(size=(3, 6))[group] + rng.normal(size=(90, 6)), labels)
    )
    return import_embeddings(Runs(tmp_path_factory.mktemp("runs")), vectors, "half"), labels


def test_a_neighbor_without_a_label_is_not_of_another_class(half_labeled):
    run, _ = half_labeled
    said = CliRunner().invoke(neighbors_app, [run.id, "1", "--runs", str(run.path.parent)]).output
    assert "no label" in said
    assert not [line for line in said.splitlines() if "no label" in line and "another" in line]
    said = CliRunner().invoke(neighbors_app, [run.id, "--runs", str(run.path.parent)]).output
    assert "another class: 0.0%" in said


def test_it_has_no_center_in_its_view_nor_a_distance_to_one(half_labeled):
    run, labels = half_labeled
    missing = np.array([label is None for label in labels])
    assert np.array_equal(np.isnan(point_values(run, None, "center")), missing)
    known = LinearProjection.class_fan(run.embeddings[~missing], run.labels[~missing])
    assert np.abs(run.linear_projection.components - known.components).max() < 0.1
    assert example_item(run) is None or not missing[example_item(run)]


def test_a_supervised_map_of_the_run_keeps_it_in_its_group(half_labeled):
    run, labels = half_labeled
    missing = np.array([label is None for label in labels])
    words = [run.id, "--method", "umap", "--param", "supervised=true", "--runs", str(run.path.parent)]
    assert CliRunner().invoke(project_app, words).exit_code == 0
    (drawn,) = run.projections()
    near = np.square(drawn.coordinates[:, None] - drawn.coordinates).sum(axis=2).argsort(axis=1)[:, 1:11]
    assert missing[near][missing].mean() == pytest.approx(0.5, abs=0.2)


@every_kind
def test_scores_are_those_of_the_rows_with_a_label(labels):
    alone = metrics.evaluate(POINTS[KNOWN], GROUP[KNOWN])
    assert metrics.evaluate(POINTS, labels) == alone | {"queries_left_out": 45.0}
    some = metrics.evaluate(POINTS[KNOWN], GROUP[KNOWN], rows=range(9), clustering=False)
    assert metrics.evaluate(POINTS, labels, rows=range(18), clustering=False) == some | {"queries_left_out": 9.0}
    searched = metrics.evaluate(POINTS[KNOWN], GROUP[KNOWN], POINTS[KNOWN] + 1, GROUP[KNOWN], clustering=False)
    assert metrics.evaluate(POINTS, labels, POINTS + 1, labels, clustering=False) == searched | {
        "queries_left_out": 45.0
    }
    assert (metrics.confusion(POINTS, labels)[1] == metrics.confusion(POINTS[KNOWN], GROUP[KNOWN])[1]).all()
    each, alone = metrics.evaluate_per_query(POINTS, labels), metrics.evaluate_per_query(POINTS[KNOWN], GROUP[KNOWN])
    assert (each.queries == np.flatnonzero(KNOWN)[alone.queries]).all()
    assert (each.nearest == np.flatnonzero(KNOWN)[alone.nearest]).all()


def test_labels_that_are_all_missing_have_no_scores():
    for rows, labels in ((None, [None] * 90), ([0, 2], NUMBERS)):
        with pytest.raises(UserError, match=r"all missing|without any"):
            metrics.evaluate(POINTS, labels, rows=rows)


def test_a_table_without_labels_has_no_score_anywhere(tmp_path):
    run = import_embeddings(Runs(tmp_path), validate_vectors("t", EmbeddingTable(POINTS, None)), "bare")
    assert run.metrics == {}
    said = CliRunner().invoke(evaluate_app, [run.id, "--runs", str(tmp_path)])
    assert "1.0" not in said.output
    assert "bare has no labels" in str(said.exception)
    for name in MEASURES:
        with pytest.raises(UserError, match="compares classes; bare has no labels"):
            measure(name, run)
    for kind in ("python", "command"):
        with pytest.raises(UserError, match="bare was made elsewhere"):
            write(kind, RunExport(run), io.BytesIO())


@pytest.mark.slow
def test_a_recording_leaves_them_out_of_its_scores(tmp_path):
    with dmlviz.record("half", labels=MISSING["NaN among texts"], runs=tmp_path) as recording:
        recording.snapshot(0, POINTS)
    run = recording.run
    assert DATASETS[run.config.dataset].classes == ("a", "b", "c", "no label")
    assert (run.known_labels == np.where(KNOWN, GROUP, -1)).all()
    scores = metrics.evaluate(run.embeddings[KNOWN], GROUP[KNOWN])
    assert run.metrics["map_at_r"] == pytest.approx(scores["map_at_r"])
    assert run.metrics["queries_left_out"] == 45


def test_files_of_queries_leave_them_out_and_say_so(tmp_path):
    labels = ["" if number is None else str(number) for number in NUMBERS]
    for name, rows in (("all", range(90)), ("known", np.flatnonzero(KNOWN))):
        frame = pd.DataFrame(POINTS[rows], columns=[f"x{i}" for i in range(6)]).assign(label=np.array(labels)[rows])
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    said, alone = (
        CliRunner().invoke(evaluate_app, ["--query", str(tmp_path / f"{name}.csv"), "--confusion"]).output
        for name in ("all", "known")
    )
    assert "45 without a label left out" in said
    assert said[said.index("precision_at_1") :].replace(" ", "").replace("left_out45", "left_out0") == alone[
        alone.index("precision_at_1") :
    ].replace(" ", "")


def test_exported_tables_have_nothing_in_its_place(half_labeled, tmp_path):
    run, labels = half_labeled
    written = table(RunExport(run))
    assert written["class"].to_pylist() == labels.tolist()
    assert [label is None for label in written["label"].to_pylist()] == [label is None for label in labels]
    options = ["--method", "pca", "--runs", str(run.path.parent), "--csv"]
    assert CliRunner().invoke(project_app, [run.id, *options, str(tmp_path / "t.csv")]).exit_code == 0
    np.savez(tmp_path / "v.npz", vectors=POINTS, labels=np.where(KNOWN, GROUP, np.nan))
    assert CliRunner().invoke(project_app, [str(tmp_path / "v.npz"), *options, str(tmp_path / "v.csv")]).exit_code == 0
    for name in ("t.csv", "v.csv"):
        classes = [row["class"] for row in csv.DictReader((tmp_path / name).read_text().splitlines())]
        assert [not name for name in classes] == (~KNOWN).tolist()
        assert len({*classes}) == 4
