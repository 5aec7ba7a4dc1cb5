"""Measures what a learned metric is good for, and for which notion of "same" (the lab *metric*)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from scipy import ndimage

from dmlviz.data import Dataset, load, stratified_subset
from dmlviz.data.dataset import Split
from dmlviz.data.made.pixels import enlarge
from dmlviz.labs.kept_arrays import MAP
from dmlviz.labs.pair_training import in_chunks, normalize, seeded, train_steps
from dmlviz.losses import build as build_loss
from dmlviz.metrics import evaluate
from dmlviz.nets import build, templates
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.studies.trial import Trial, TrialContext

INK = 64  # gray level from which on a pixel counts as ink
GROUPS = 4  # of equal size, by thickness and by slant


def label_notions(train: Split, test: Split) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the labels of training and test images under each notion.

    Thickness and slant are cut into four groups, equally large among the training images.
    """
    return {
        "digit": (train.labels, test.labels),
        "parity": (train.labels % 2, test.labels % 2),
        "thickness": _groups(stroke_thickness, train, test),
        "slant": _groups(slant, train, test),
    }


def stroke_thickness(images: np.ndarray) -> np.ndarray:
    """Return ink over the length of its middle line, in pixels; images are uint8, n × h × w."""
    ink = images >= INK
    depth = np.stack([ndimage.distance_transform_edt(image) for image in ink])
    middle = (depth > 0) & (depth == ndimage.maximum_filter(depth, size=(1, 3, 3)))
    return np.asarray(ink.sum((1, 2)) / np.maximum(middle.sum((1, 2)), 1))


def slant(images: np.ndarray) -> np.ndarray:
    """Return how many pixels the ink moves to the right from one row to the row above; uint8, n × h × w."""
    weight = images.astype(np.float64)
    total = np.maximum(weight.sum((1, 2)), 1)
    rows, columns = np.mgrid[: images.shape[1], : images.shape[2]]
    row, column = ((weight * grid).sum((1, 2)) / total for grid in (rows, columns))
    down, right = rows - row[:, None, None], columns - column[:, None, None]
    return np.asarray(-(weight * down * right).sum((1, 2)) / np.maximum((weight * down**2).sum((1, 2)), 1e-9))


def _groups(measure: Callable[[np.ndarray], np.ndarray], train: Split, test: Split) -> tuple[np.ndarray, np.ndarray]:
    values = measure(train.images)
    cuts = np.quantile(values, np.arange(1, GROUPS) / GROUPS)
    return np.searchsorted(cuts, values), np.searchsorted(cuts, measure(test.images))


TRAIN = 6_000  # training images: what is learned from, and among which the nearest are looked for
TEST = 2_000  # test images
NEIGHBORS = 3
BATCH = 160
ROWS = 12  # rows of W that are kept as pictures
START = 0.2  # scale of the first matrix: distances to near neighbors are then around 1
SHOWN = 1_000  # test images on a map


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Learn a metric from one notion of same, and score it by each.

    The trial's settings: `loss` ("" for the pixels as they are) and `loss_params`, `net`, `embedding_dim`,
    `learning_rate`, `notion`, `steps`, `seed`.
    """
    settings = trial.settings
    data = load(trial.dataset, context.data_root)
    train, test = (_part(split, count) for split, count in zip(enlarge(data), (TRAIN, TEST), strict=True))
    labels = label_notions(train, test)
    own, queries = labels[settings["notion"]]
    seconds = 0.0
    if settings["loss"]:
        gallery, embeddings, seconds = _learn(train, test, own, data, settings, context)
    else:
        gallery, embeddings = (split.images.reshape(len(split), -1) / np.float32(255) for split in (train, test))
    np.savez_compressed(
        context.folder / MAP,
        places=LinearProjection.pca(embeddings).project(embeddings)[:SHOWN].astype(np.float32),
        labels=queries[:SHOWN].astype(np.uint8),
    )
    return {
        "knn_error": knn_error(embeddings, queries, gallery, own),
        "precision_at_1": {notion: _precision_at_1(embeddings, tests) for notion, (_, tests) in labels.items()},
        "train_seconds": round(seconds, 2),
    }


def knn_error(queries: np.ndarray, labels: np.ndarray, gallery: np.ndarray, gallery_labels: np.ndarray) -> float:
    """Return how often the majority of the nearest gallery images is of another class; of a tie, the nearest decides.

    Args:
        queries: Embeddings, n × d.
        labels: Their classes, n.
        gallery: Embeddings, m × d.
        gallery_labels: Their classes, m.
    """
    nearest = gallery_labels[NearestNeighbors(gallery).search(queries, NEIGHBORS)[1]]
    votes = (nearest[:, :, None] == nearest[:, None, :]).sum(2)
    winner = nearest[np.arange(len(nearest)), votes.argmax(1)]
    return float((winner != labels).mean())


def is_matrix(net: torch.nn.Module) -> bool:
    """Return whether a net is one matrix."""
    return len(list(net.parameters())) == 1


def start_from_principal_axes(net: torch.nn.Module, images: torch.Tensor) -> None:
    """Set the matrix of a net to the first principal axes of images, times START: it begins as a scaled Euclid.

    Args:
        net: A net of one matrix.
        images: Normalized images, n × 1 × h × w.
    """
    (weight,) = net.parameters()
    centered = images.flatten(1) - images.flatten(1).mean(0)
    _, axes = torch.linalg.eigh(centered.T @ centered)
    with torch.no_grad():
        weight.copy_(START * axes[:, -len(weight) :].T)


def _part(split: Split, count: int) -> Split:
    rows = stratified_subset(split.labels, count)
    return Split(split.images[rows], split.labels[rows])


def _learn(
    train: Split,
    test: Split,
    labels: np.ndarray,
    data: Dataset,
    settings: Mapping[str, Any],
    context: TrialContext,
) -> tuple[np.ndarray, np.ndarray, float]:
    images, targets = normalize(train.images, data.mean, data.std), torch.from_numpy(labels.astype(np.int64))
    classes, dimension = int(labels.max()) + 1, settings["embedding_dim"]
    with seeded(settings["seed"]):
        net = build(settings["net"], embedding_dim=dimension, normalize=False, size=images.shape[-1])
        loss = build_loss(settings["loss"], embedding_dim=dimension, num_classes=classes, **settings["loss_params"])
        if is_matrix(net):
            start_from_principal_axes(net, images)
    members = [np.flatnonzero(labels == label) for label in range(classes)]
    rng = np.random.default_rng(settings["seed"])

    def step_loss(_step: int) -> torch.Tensor:
        rows = torch.from_numpy(np.concatenate([rng.choice(own, BATCH // classes) for own in members]))
        value: torch.Tensor = loss(net(images[rows]), targets[rows])
        return value

    both = torch.nn.ModuleList([net, loss])
    seconds = train_steps(both, settings["steps"], step_loss, context, lr=settings["learning_rate"])
    if is_matrix(net):
        np.savez_compressed(context.folder / "rows.npz", rows=templates(net)[:ROWS, 0])
    gallery, embeddings = (in_chunks(net, normalize(split.images, data.mean, data.std)) for split in (train, test))
    return gallery, embeddings, seconds


def _precision_at_1(embeddings: np.ndarray, labels: np.ndarray) -> float:
    return evaluate(embeddings, labels, clustering=False, full_ranking=False, verification=False)["precision_at_1"]
