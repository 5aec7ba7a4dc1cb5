"""Two test images of a run, compared by pixels and by the net: distances, and the verdicts of thresholds."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import has_label, short_names
from dmlviz.errors import UserError
from dmlviz.metrics.verification import best_threshold, pairs
from dmlviz.ops.ball import curvature_of
from dmlviz.ops.squared_distances import squared_differences
from dmlviz.runs.run import Run
from dmlviz_app.answers.protocol import ImagePair, PairSpace
from dmlviz_app.answers.sprites import ImageTiles

MOST = 2_500  # pairs of each kind on which the thresholds rest: 40 ms of pixels, and a share known to .5%
DIMENSIONS = 4
PIXELS, EMBEDDING = "raw pixels", "embedding"


def image_pair(run: Run, tiles: ImageTiles | None, first: int, second: int) -> ImagePair:
    """Compare two test images at the end of a run.

    Args:
        run: The run.
        tiles: Its test images; None where they are not on disk: then only the net compares.
        first: Index of a test image.
        second: Index of another one.

    Returns:
        For each space the Euclidean distance, the threshold that gets most pairs of test images right, and the share
        of pairs that it gets right; what each dimension adds; the nearest image of a class that the second is not of.

    Raises:
        UserError: Before the run's end, for an index that there is not, or where one class only has pairs.
    """
    embeddings, labels = run.embeddings, run.labels
    if embeddings is None or labels is None:
        raise run.lacks("embeddings of all test images")
    if not (0 <= first < len(labels) and 0 <= second < len(labels)):
        raise UserError(f"Test images are numbered 0 to {len(labels) - 1:,}; got {first:,} and {second:,}.")
    spaces = []
    if tiles is not None:
        spaces.append(_space(PIXELS, tiles.images, first, second, _pixel_threshold(tiles)))
    threshold = _embedding_threshold(str(run.path), run.info["created"])
    spaces.append(_space(EMBEDDING, embeddings, first, second, threshold))
    names = short_names(DATASETS[run.config.dataset].classes)
    classes = names[labels[first]], names[labels[second]]
    return {
        "same": bool(labels[first] == labels[second]),
        "classes": classes,
        "pairs": threshold[2],
        "spaces": spaces,
        "dimensions": _dimensions(embeddings[first], embeddings[second]),
        "of": embeddings.shape[1],
        "other": _nearest_of_another_class(run, second),
        "curved": run.config.ball > 0,
    }


def _dimensions(first: np.ndarray, second: np.ndarray) -> list[tuple[int, float]]:
    """Return the dimensions that add most to the squared distance, each with its share."""
    if curvature_of(first):  # the distance of a ball is no sum over dimensions
        return []
    squares = (first.astype(np.float64) - second) ** 2
    if not 0 < squares.sum() < np.inf:
        return []
    largest = np.argsort(-squares, kind="stable")[:DIMENSIONS]
    return [(int(at), float(squares[at] / squares.sum())) for at in largest if squares[at] > 0]


def _nearest_of_another_class(run: Run, item: int) -> int | None:
    assert run.embeddings is not None
    labels = run.known_labels
    others = np.flatnonzero((labels != labels[item]) & (labels >= 0))
    distances = squared_differences(run.embeddings[[item]], run.embeddings, np.zeros(len(others), int), others)
    return int(others[np.argmin(distances)]) if len(others) else None


def _space(name: str, points: np.ndarray, first: int, second: int, threshold: tuple[float, float, int]) -> PairSpace:
    distance = float(_distances(points, np.array([first]), np.array([second]))[0])
    cut, accuracy, _ = threshold
    return {
        "name": name,
        "distance": round(distance, 4),
        "threshold": round(cut, 4),
        "says_same": distance < cut,
        "accuracy": round(accuracy, 4),
    }


def _distances(points: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Euclidean distances of pairs of rows; of pixels from 0 to 1."""
    items, rows = np.unique(np.concatenate([first, second]), return_inverse=True)
    flat = points[items].reshape(len(items), -1).astype(np.float64)
    if points.dtype == np.uint8:
        flat /= 255
    distances: np.ndarray = np.sqrt(squared_differences(flat, flat, rows[: len(first)], rows[len(first) :]))
    return distances


@lru_cache(maxsize=16)
def _pixel_threshold(tiles: ImageTiles) -> tuple[float, float, int]:
    return _threshold(tiles.images, tiles.labels)


@lru_cache(maxsize=64)
def _embedding_threshold(path: str, created: str) -> tuple[float, float, int]:
    """Return the threshold; `created` distinguishes a run that was trained again from the one before."""
    run = Run(Path(path))
    assert run.embeddings is not None
    assert run.labels is not None
    mask = has_label(run.labels, DATASETS[run.config.dataset].classes)
    mask = mask if mask.any() else ~mask
    return _threshold(run.embeddings[mask], run.labels[mask])


def _threshold(points: np.ndarray, labels: np.ndarray) -> tuple[float, float, int]:
    """Return the most accurate threshold, the share of pairs that it gets right, and the number of pairs."""
    first, second, same = pairs(np.asarray(labels), MOST)
    if not len(same):
        raise UserError("A threshold needs two images of one class and two of different ones.")
    distances = _distances(points, first, second)
    cut = best_threshold(distances, same)
    return cut, float(((distances < cut) == same).mean()), len(same)
