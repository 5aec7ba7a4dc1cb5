"""What comes in from outside, checked once: embeddings and labels, NumPy or torch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlviz.errors import UserError


@dataclass(frozen=True)
class LabeledEmbeddings:
    """Embeddings (float32 or float64, n × d) and their classes as ids into `names` (int64, n)."""

    points: np.ndarray
    classes: np.ndarray
    class_ids: np.ndarray

    @property
    def finite(self) -> bool:
        """Whether the embeddings are free of NaN and infinity; scores of any others are NaN."""
        return bool(np.isfinite(self.points).all())

    @property
    def counts(self) -> np.ndarray:
        """How many points each class has."""
        return np.bincount(self.classes, minlength=len(self.class_ids))

    def select_classes(self, classes: np.ndarray) -> "LabeledEmbeddings":
        """The points of these classes (rising ids), which are numbered anew from 0."""
        chosen = np.isin(self.classes, classes)
        return LabeledEmbeddings(
            self.points[chosen], np.searchsorted(classes, self.classes[chosen]), self.class_ids[classes]
        )

    def class_sums(self, points: np.ndarray) -> np.ndarray:
        """The sum of the points (n × d) of each class, in float64; 0 for a class without any."""
        present = np.flatnonzero(self.counts)
        starts = (np.cumsum(self.counts) - self.counts)[present]
        sums = np.zeros((len(self.class_ids), points.shape[1]))
        sums[present] = np.add.reduceat(points[np.argsort(self.classes, kind="stable")], starts, dtype=np.float64)
        return sums


def read(embeddings: Any, labels: Any) -> LabeledEmbeddings:
    """Check one set of embeddings with its labels; raise UserError for a wrong shape, kind or length."""
    points, given = _points(embeddings, "embeddings"), _labels(labels, len(embeddings), "labels")
    names, classes = np.unique(given, return_inverse=True)
    return LabeledEmbeddings(points, classes, names)


def read_query_and_gallery(
    embeddings: Any, labels: Any, gallery: Any, gallery_labels: Any
) -> tuple[LabeledEmbeddings, LabeledEmbeddings | None]:
    """Check queries and the gallery they search, None being themselves; both share one list of class names."""
    if gallery is None and gallery_labels is None:
        return read(embeddings, labels), None
    if gallery is None or gallery_labels is None:
        missing = "gallery" if gallery is None else "gallery_labels"
        raise UserError(f"A gallery is embeddings with their labels; {missing} is missing: give both or neither.")
    points, gallery_points = _points(embeddings, "embeddings"), _points(gallery, "gallery")
    if points.shape[1] != gallery_points.shape[1]:
        raise UserError(
            f"Queries and gallery lie in one space; got {points.shape[1]} and {gallery_points.shape[1]} dimensions: "
            "embed both with the same net."
        )
    given = _labels(labels, len(points), "labels")
    gallery_given = _labels(gallery_labels, len(gallery_points), "gallery_labels")
    kind = np.result_type(points, gallery_points)
    names, classes = np.unique(np.concatenate([given, gallery_given]), return_inverse=True)
    return (
        LabeledEmbeddings(points.astype(kind, copy=False), classes[: len(points)], names),
        LabeledEmbeddings(gallery_points.astype(kind, copy=False), classes[len(points) :], names),
    )


def _array(values: Any, name: str) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    try:
        return np.asarray(values)
    except ValueError:
        raise UserError(f"{name} is one array; got rows of unequal length.") from None


def _points(values: Any, name: str) -> np.ndarray:
    array = _array(values, name)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiub":
        raise UserError(
            f"{name} is an array of numbers, n × d, with at least one row; "
            f"got {array.dtype} of shape {' × '.join(map(str, array.shape)) or 'a single value'}."
        )
    wide = array.dtype.kind == "f" and array.dtype.itemsize >= 8
    return np.ascontiguousarray(array, dtype=np.float64 if wide else np.float32)


def _labels(values: Any, n: int, name: str) -> np.ndarray:
    array = _array(values, name)
    if array.ndim != 1 or len(array) != n:
        raise UserError(f"{name} holds one class id per embedding; got shape {array.shape} for {n} embeddings.")
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise UserError(f"{name} holds class ids, which are whole numbers; got {array.dtype}.")
    return array.astype(np.int64)
