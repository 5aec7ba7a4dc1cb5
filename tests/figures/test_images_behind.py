"""The images behind a point of a figure are those of plain loops; baselines are those of the first snapshot."""

import numpy as np
import pytest
import torch

from dmlviz import metrics
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.figures import baselines, images_behind
from dmlviz.figures.data import Images, Measured
from dmlviz.figures.retrieval import draw_confusion_matrix
from dmlviz.metrics import curves
from dmlviz.metrics.distance_histograms import distance_histogram, pairs_per_image
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record


@pytest.fixture(scope="module")
def images():
    """60 points of 4 classes, with indices of their own in the data set."""
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=60)
    points = rng.normal(size=(4, 3))[labels] + rng.normal(size=(60, 3))
    return Images(points.astype(np.float32), labels, (), "", np.arange(60) * 3)


def distances(images):
    return np.linalg.norm(images.embeddings[:, None] - images.embeddings, axis=2)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_k_has_the_images_whose_first_hit_comes_there(images, k):
    d = distances(images)
    expected = []
    for i in range(60):
        order = [j for j in np.argsort(d[i]) if j != i]
        if 1 + next(rank for rank, j in enumerate(order) if images.labels[j] == images.labels[i]) == k:
            expected.append(3 * i)
    measured = Measured(curves.recall_at_k(images.embeddings, images.labels), (), "")
    behind = images_behind.images_behind("recall_at_k", images, measured, k)
    assert behind.items.tolist() == expected
    assert behind.text.startswith(f"{len(expected)} image")


def test_a_threshold_has_the_images_of_the_pairs_that_it_lets_in(images):
    d, x = distances(images), 1.0
    expected = {
        3 * i for i in range(60) for j in range(60) if images.labels[i] != images.labels[j] and d[i, j] <= x and i != j
    }
    first, second = curves.false_positives(images.embeddings, images.labels, x, 10**6)
    assert np.all(np.diff(d[first, second]) >= -1e-6)  # the closest first
    sampled = {3 * int(i) for i in np.concatenate([first, second])}
    assert sampled <= expected
    behind = images_behind.images_behind("roc", images, Measured(None, (), ""), x)
    assert set(behind.items.tolist()) == {3 * int(i) for i in np.concatenate([first[:100], second[:100]])}
    nothing = images_behind.images_behind("roc", images, Measured(None, (), ""), 0.0)
    assert len(nothing.items) == 0
    assert "no pair" in nothing.text


def test_a_cell_has_the_images_of_its_row_whose_nearest_is_of_its_column(images):
    d = distances(images) + np.where(np.eye(60), np.inf, 0)
    nearest = images.labels[d.argmin(axis=1)]
    measured = Measured(metrics.confusion(images.embeddings, images.labels), ("a", "b", "c", "d"), "")
    clickable = draw_confusion_matrix(measured).data[2]
    seen = 0
    for cell, x, y in zip(clickable.customdata, clickable.x, clickable.y, strict=True):
        row, column = "abcd".index(y), "abcd".index(x)
        assert cell == 4 * row + column
        behind = images_behind.images_behind("confusion_matrix", images, measured, cell)
        expected = 3 * np.flatnonzero((images.labels == row) & (nearest == column))
        assert behind.items.tolist() == expected.tolist()
        assert f" of {y} whose nearest neighbor is one of " in behind.text
        seen += len(expected)
    assert seen == 60


@pytest.mark.parametrize("kind", ["same", "different"])
def test_a_bar_has_the_images_of_its_pairs(images, kind):
    d, counted = distances(images), distance_histogram(images.embeddings, images.labels, bins=30)
    bar = 6
    low, high = counted.edges[bar : bar + 2]
    of_kind = (images.labels[:, None] == images.labels) == (kind == "same")
    within = of_kind & (d >= low) & (d < high) & ~np.eye(60, dtype=bool)
    assert within.sum() == 2 * getattr(counted, kind)[bar]
    counts = pairs_per_image(images.embeddings, images.labels, low, high, kind)
    assert counts.tolist() == within.sum(axis=1).tolist()
    behind = images_behind.images_behind(
        "distance_histogram", images, Measured(counted, (), ""), (low + high) / 2, kind
    )
    assert behind.items.tolist() == (3 * np.flatnonzero(within.any(axis=1))).tolist()


def test_the_baselines_are_those_of_the_pixels_and_of_the_first_snapshot(tmp_path):
    torch.set_num_threads(1)
    runs = Runs(tmp_path / "runs", bundled=tmp_path / "none")
    config = TrainConfig(dataset="digits", net="mlp", embedding_dim=4, steps=2, num_snapshots=2, eval_subset_size=200)
    run = runs.create(config)
    list(train_and_record(run))
    untrained = baselines.measure("untrained net", run, tracked=True)
    start, labels = run.embeddings_at(0)
    assert np.allclose(untrained.curves["recall_at_k"].recall, curves.recall_at_k(start, labels).recall)
    assert untrained.curves["roc"].area == pytest.approx(metrics.evaluate(start, labels)["roc_auc"], abs=1e-6)
    pixels = baselines.measure("raw pixels", run, tracked=False)
    flat = load("digits").test.images.reshape(len(run.labels), -1) / 255
    assert pixels.curves["recall_at_k"].recall[0] == metrics.evaluate(flat, run.labels)["precision_at_1"]
    baselines.save(pixels, tmp_path / "pixels.npz")
    again = baselines.read("raw pixels", tmp_path / "pixels.npz")
    assert again.curves["roc"].area == pixels.curves["roc"].area
    assert again.curves["roc"].of == tuple(pixels.curves["roc"].of)
    assert np.array_equal(again.curves["precision_recall"].precision, pixels.curves["precision_recall"].precision)
