"""Own vectors are looked through without a net: wrong labels, copies and outliers are found; no label is no class."""

import numpy as np
import pytest

import dmlviz
from dmlviz.cleaning.decisions import cleaning
from dmlviz.cleaning.job import clean_run
from dmlviz.data.corrections import load_corrections
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.errors import UserError
from dmlviz.jobs.job_record import Work
from dmlviz.recording.inputs import recorded_dataset, save_images
from dmlviz.recording.run_writer import RunPlan, RunWriter
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs

CLASSES = ("ash", "elm", "oak", "no label")
COPY, ORIGINAL, FAR = 41, 50, 61


def vectors(n=300, d=16, scale=1.0, offset=0.0, unlabeled=0):
    """Three clear classes; every 30th label is wrong, two rows are equal, one is far, the last have no label."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    points = 8 * np.eye(3, d)[labels] + rng.normal(size=(n, d))
    wrong = np.arange(0, n - unlabeled, 30)
    points[COPY], points[FAR] = points[ORIGINAL], points[FAR] * 9
    labels[wrong] = (labels[wrong] + 1) % 3
    labels[n - unlabeled :] = 3
    return (points * scale + offset).astype(np.float64), labels, wrong


def imported(tmp_path, **made):
    points, labels, wrong = vectors(**made)
    names = CLASSES if made.get("unlabeled") else CLASSES[:3]
    return import_embeddings(Runs(tmp_path / "runs"), LabeledEmbeddings(points, labels, names), "mine"), wrong


def recorded(tmp_path, end, pictures=False):
    """A recording of two snapshots, the first of them noise; `end` ends it, or not."""
    points, labels, wrong = vectors()
    images = np.random.default_rng(1).integers(0, 255, (len(labels), 8, 8), np.uint8) if pictures else None
    spec = recorded_dataset("mine", images, labels, CLASSES[:3])
    if images is not None:
        save_images(spec, images, labels, tmp_path)
    noise = np.random.default_rng(2).normal(size=points.shape)
    with RunWriter(RunPlan(tmp_path / "runs", "mine", "0" * 16, spec.to_dict()), labels, noise) as writer:
        writer.snapshot(0, noise)
        writer.snapshot(80, points)
        end(writer)
    return Run(writer.run.path), wrong


def of_kind(found, kind):
    return [row.image for row in found.rows if row.kind == kind]


@pytest.mark.parametrize(
    "made", [{}, {"scale": 1e-6}, {"offset": 1e6}, {"unlabeled": 100}, {"d": 3}], ids=lambda made: str(made)
)
def test_wrong_labels_copies_and_outliers_of_a_table_are_found(tmp_path, made):
    run, wrong = imported(tmp_path, **made)
    found = dmlviz.clean(run, data=tmp_path)
    assert sorted(of_kind(found, "suspect")) == [*wrong]
    assert [(row.image, row.other, row.score) for row in found.rows if row.kind == "duplicate"] == [(ORIGINAL, COPY, 0)]
    assert FAR in of_kind(found, "outlier")
    assert (found.images, found.noun, found.steps) == (300, "row", ())
    assert found.about == "300 rows, by their own vectors"
    assert [note[:3] for note in found.notes] == (["100"] if made.get("unlabeled") else [])


def test_what_has_no_label_is_no_class_to_be_of_or_to_change_to(tmp_path):
    run, _ = imported(tmp_path, unlabeled=250)  # most neighbors of what has a label have none
    found = dmlviz.clean(run, data=tmp_path)
    assert {row.label for row in found.rows if row.kind == "suspect"} <= {0, 1, 2}
    assert {row.suggestion for row in found.rows} <= {0, 1, 2, None}
    nothing = LabeledEmbeddings(vectors()[0], np.zeros(300, np.int64), ("no label",))
    found = dmlviz.clean(import_embeddings(Runs(tmp_path / "runs"), nothing, "none"), data=tmp_path)
    assert of_kind(found, "suspect") == []
    assert of_kind(found, "duplicate") == [ORIGINAL]


@pytest.mark.parametrize(
    "end",
    [
        lambda writer: writer.end("", 1.0, 1.0),
        lambda writer: writer.end("stopped by hand", 1.0, 1.0),
        lambda writer: None,
    ],
    ids=["finished", "stopped", "cut off"],
)
def test_of_a_recording_the_last_snapshot_is_looked_through(tmp_path, end):
    run, wrong = recorded(tmp_path, end)
    found = dmlviz.clean(run, data=tmp_path)
    assert sorted(of_kind(found, "suspect")) == [*wrong]
    assert found.about == "300 rows, by their own vectors, of step 80"


def test_vectors_that_are_not_finite_are_left_out_and_too_few_are_refused(tmp_path):
    points, labels, _ = vectors()
    points[7] = np.nan
    spec = recorded_dataset("mine", None, labels, CLASSES[:3])
    with RunWriter(RunPlan(tmp_path, "mine", "0" * 16, spec.to_dict()), labels, points) as writer:
        writer.snapshot(5, points)
    found = dmlviz.clean(Run(writer.run.path), data=tmp_path)
    assert (found.images, found.notes) == (299, ("1 row with values that are not finite: left out.",))
    assert 7 not in [row.image for row in found.rows]
    few = LabeledEmbeddings(points[8:18], labels[8:18], CLASSES[:3])
    with pytest.raises(UserError, match="more than 10 rows; got 10"):
        dmlviz.clean(import_embeddings(Runs(tmp_path), few, "few"), data=tmp_path)


@pytest.mark.parametrize("pictures", [False, True])
def test_the_job_writes_the_rows_with_their_pictures_where_there_are_some(tmp_path, pictures):
    run, _ = recorded(tmp_path, lambda writer: writer.end("", 1.0, 1.0), pictures)
    record = cleaning(Runs(tmp_path / "runs"), run).begin()
    clean_run(Work(record.path, tmp_path))
    assert record.end["event"] == "finished", record.end
    stored = record.findings
    assert (stored["noun"], stored["tile"]) == (("image", 8) if pictures else ("row", 0))
    assert {row["tile"] is None for row in stored["rows"]} == {not pictures}
    assert (record.path / "2.png").exists() == pictures


def test_decisions_are_about_rows(tmp_path):
    run, wrong = imported(tmp_path)
    dmlviz.correct(run, relabel={int(wrong[1]): "ash"}, exclude=[299], data=tmp_path)
    assert load_corrections(tmp_path, run.config.dataset).changes == {int(wrong[1]): 0, 299: -1}
    with pytest.raises(UserError, match=r"rows of custom-.* have the numbers 0 to 299; got 300"):
        dmlviz.correct(run, exclude=[300], data=tmp_path)
