"""The images behind a point of a figure: those that a click on it selects."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dmlviz.data.class_names import short_names
from dmlviz.figures.data import Images, Measured, class_name
from dmlviz.metrics import curves
from dmlviz.metrics.distance_histograms import PairKind, pairs_per_image
from dmlviz.metrics.first_hits import first_hits
from dmlviz.metrics.inputs import read_finite

MAX_PAIRS = 100
MAX_IMAGES = 200


@dataclass(frozen=True)
class ImagesBehind:
    """Images of the data set, ascending, and a sentence that says which they are."""

    items: np.ndarray
    text: str


def images_behind(
    name: str, images: Images, measured: Measured, x: float, kind: PairKind = "different"
) -> ImagesBehind:
    """Return the images behind a point.

    Args:
        name: Name of the figure, one of `CLICKABLE`.
        images: The embeddings that were measured.
        measured: The drawn data.
        x: Position of the point: k, the distance that a pair may have, the middle of a bar, or the number of a cell.
        kind: The pairs that a bar counts.
    """
    rows, text = CLICKABLE[name](images, measured, x, kind)
    items = rows if images.items is None else images.items[rows]
    return ImagesBehind(np.sort(items), text)


def _first_found(images: Images, measured: Measured, x: float, kind: PairKind) -> tuple[np.ndarray, str]:
    recall, k = measured.data, round(x)
    rows = recall.images[recall.first_hit == k]
    if k == 1:
        return rows, f"{_count(rows)} whose nearest neighbor is of their class"
    return rows, f"{_count(rows)} whose first neighbor of their class is the {_ordinal(k)}"


def _accepted_wrongly(images: Images, measured: Measured, x: float, kind: PairKind) -> tuple[np.ndarray, str]:
    first, second = curves.false_positives(images.embeddings, images.labels, x, MAX_PAIRS + 1)
    rows = np.unique(np.concatenate([first[:MAX_PAIRS], second[:MAX_PAIRS]]))
    some = f"the {MAX_PAIRS} closest" if len(first) > MAX_PAIRS else f"all {len(first)}"
    if not len(first):
        return rows, f"no pair of two classes is accepted up to the distance {x:.3f}"
    return rows, f"{_count(rows)} of {some} pairs of two classes accepted up to the distance {x:.3f}"


def _in_bar(images: Images, measured: Measured, x: float, kind: PairKind) -> tuple[np.ndarray, str]:
    edges = measured.data.edges
    bar = int(np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2))
    low, high = float(edges[bar]), float(edges[bar + 1])
    counts = pairs_per_image(images.embeddings, images.labels, low, high, kind)
    rows = np.argsort(-counts, kind="stable")[: min(MAX_IMAGES, np.count_nonzero(counts))]
    of = "one class" if kind == "same" else "two classes"
    which = f"the {MAX_IMAGES} images with the most" if np.count_nonzero(counts) > MAX_IMAGES else f"{_count(rows)} of"
    return rows, f"{which} pairs of {of} at a distance of {low:.3f} to {high:.3f}"


def _in_cell(images: Images, measured: Measured, x: float, kind: PairKind) -> tuple[np.ndarray, str]:
    names, _ = measured.data
    row, column = divmod(round(x), len(names))
    points = read_finite(images.embeddings, images.labels)
    hits = first_hits(points)
    is_within = (points.classes[hits.queries] == row) & (hits.nearest_class == column)
    rows = hits.queries[is_within]
    own, other = (class_name(short_names(measured.classes), int(names[i])) for i in (row, column))
    nearest = "one of them, too" if row == column else f"one of {other}"
    return rows, f"{_count(rows)} of {own} whose nearest neighbor is {nearest}"


CLICKABLE: dict[str, Callable[[Images, Measured, float, PairKind], tuple[np.ndarray, str]]] = {
    "recall_at_k": _first_found,
    "roc": _accepted_wrongly,
    "precision_recall": _accepted_wrongly,
    "distance_histogram": _in_bar,
    "confusion_matrix": _in_cell,
}


def _count(rows: np.ndarray) -> str:
    return "1 image" if len(rows) == 1 else f"{len(rows):,} images"


def _ordinal(k: int) -> str:
    ending = "th" if 10 <= k % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k:,}{ending}"
