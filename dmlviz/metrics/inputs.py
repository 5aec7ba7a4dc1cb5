"""Validation of embeddings and labels, NumPy or torch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops.labels import common_classes, read_labels
from dmlviz.ops.precision import plain_array, to_numbers


@dataclass(frozen=True)
class LabeledEmbeddings:
    """Embeddings with their classes.

    Attributes:
        points: Points (n × d), float32 or float64.
        classes: Indices (n, int64) into `class_ids`.
        class_ids: The labels of the classes, ascending, as `read_labels` returns them.
        cameras: Camera of each point (n, int64); None where cameras don't matter.
        rows: Ascending indices of the points that are scored as queries; None for all.
        labeled: Which of the embeddings that were given have a label (mask), and so are points; None for all.
    """

    points: np.ndarray
    classes: np.ndarray
    class_ids: np.ndarray
    cameras: np.ndarray | None = None
    rows: np.ndarray | None = None
    labeled: np.ndarray | None = None

    @property
    def scored(self) -> "LabeledEmbeddings":
        """The points that are scored as queries, alone."""
        if self.rows is None:
            return self
        return LabeledEmbeddings(self.points[self.rows], self.classes[self.rows], self.class_ids)

    @property
    def scored_rows(self) -> np.ndarray:
        """The indices of the points that are scored as queries."""
        return np.arange(len(self.points)) if self.rows is None else self.rows

    def of_rows(self, rows: Any) -> "LabeledEmbeddings":
        """Return the same to score only some of the embeddings that were given, by their indices there."""
        labeled = np.ones(len(self.points), bool) if self.labeled is None else self.labeled
        given = read_rows(rows, len(labeled))
        if not labeled[given].any():
            raise UserError(f"Queries have labels; got {len(given):,} rows without any: choose others.")
        return replace(self, rows=(np.cumsum(labeled) - 1)[given[labeled[given]]], labeled=labeled[given])

    @property
    def finite(self) -> bool:
        """Return whether no embedding contains NaN or infinity."""
        return bool(np.isfinite(self.points).all())

    @property
    def counts(self) -> np.ndarray:
        """The number of points of each class."""
        return np.bincount(self.classes, minlength=len(self.class_ids))

    def select_classes(self, classes: np.ndarray) -> "LabeledEmbeddings":
        """Return the points of these classes (ascending indices), renumbered from 0."""
        selected = np.isin(self.classes, classes)
        rows = None
        if self.rows is not None:
            rows = (np.cumsum(selected) - 1)[self.rows[selected[self.rows]]]
        return LabeledEmbeddings(
            self.points[selected],
            np.searchsorted(classes, self.classes[selected]),
            self.class_ids[classes],
            None if self.cameras is None else self.cameras[selected],
            rows,
        )


def sum_by_group(points: np.ndarray, groups: np.ndarray, num_groups: int) -> np.ndarray:
    """Return the sum (groups × d, float64) of the points (n × d) of each group (n, indices); 0 for an empty group."""
    counts = np.bincount(groups, minlength=num_groups)
    present = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[present]
    sums = np.zeros((num_groups, points.shape[1]))
    sums[present] = np.add.reduceat(points[np.argsort(groups, kind="stable")], starts, dtype=np.float64)
    return sums


def class_and_camera(queries: LabeledEmbeddings, gallery: LabeledEmbeddings) -> tuple[np.ndarray, np.ndarray]:
    """Return one index for class and camera of each query and gallery image: equal where both are equal.

    A gallery image of the same index is no match for the query, right or wrong: a photograph taken just before or
    after it by the same camera would be too easy (the rule of Market-1501).
    """
    if queries.cameras is None or gallery.cameras is None:
        raise ValueError("cameras of both sides are needed")
    _, cameras = np.unique(np.concatenate([queries.cameras, gallery.cameras]), return_inverse=True)
    classes = np.concatenate([queries.classes, gallery.classes])
    _, groups = np.unique(classes * (cameras.max() + 1) + cameras, return_inverse=True)
    return groups[: len(queries.cameras)], groups[len(queries.cameras) :]


def read(embeddings: Any, labels: Any, cameras: Any = None) -> LabeledEmbeddings:
    """Validate embeddings (n × d), labels (n) and cameras (n), and leave out those without a label.

    Raises:
        UserError: For a wrong shape, type or length, or where no label is known.
    """
    points = _points(embeddings, "embeddings")
    classes, class_ids = read_labels(labels, len(points), missing=True)
    own = None if cameras is None else read_labels(cameras, len(points), "cameras")[0]
    return _labeled(LabeledEmbeddings(points, classes, class_ids, own), "labels")


def _labeled(given: LabeledEmbeddings, name: str) -> LabeledEmbeddings:
    labeled = given.classes >= 0
    if labeled.all():
        return given
    if not labeled.any():
        raise UserError(f"Scores need labels; got {len(labeled):,} {name} that are all missing: label some embeddings.")
    cameras = None if given.cameras is None else given.cameras[labeled]
    return replace(
        given, points=given.points[labeled], classes=given.classes[labeled], cameras=cameras, labeled=labeled
    )


def read_rows(rows: Any, n: int) -> np.ndarray:
    """Validate indices of some of n points; return them ascending, each once."""
    array = _array(rows, "rows", lambda rows: plain_array(rows) if hasattr(rows, "detach") else np.asarray(rows))
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= n:
        raise UserError(
            f"rows are indices of the {n:,} embeddings, at least one, from 0 on; got {array.tolist()!r:.80}."
        )
    return np.unique(array).astype(np.int64)


def read_finite(embeddings: Any, labels: Any) -> LabeledEmbeddings:
    """Validate n embeddings and their labels for a figure.

    Raises:
        UserError: For a wrong shape, or embeddings that are not finite.
    """
    points = read(embeddings, labels)
    if not points.finite:
        raise UserError("Figures need finite embeddings; got NaN or infinity: the training diverged.")
    return points


def read_query_and_gallery(
    embeddings: Any,
    labels: Any,
    gallery: Any,
    gallery_labels: Any,
    cameras: Any = None,
    gallery_cameras: Any = None,
) -> tuple[LabeledEmbeddings, LabeledEmbeddings | None]:
    """Validate queries and gallery, with common class indices; the gallery is None if neither argument is given."""
    if gallery is None and gallery_labels is None:
        if gallery_cameras is not None:
            raise UserError("gallery_cameras belong to a gallery; got none: give gallery and gallery_labels too.")
        return read(embeddings, labels, cameras), None
    if (cameras is None) != (gallery_cameras is None):
        missing = "cameras" if cameras is None else "gallery_cameras"
        raise UserError(
            f"Same-camera matches need the cameras of both sides; {missing} is missing: give both or neither."
        )
    if gallery is None or gallery_labels is None:
        missing = "gallery" if gallery is None else "gallery_labels"
        raise UserError(f"A gallery is embeddings with their labels; {missing} is missing: give both or neither.")
    points, gallery_points = _points(embeddings, "embeddings"), _points(gallery, "gallery")
    if points.shape[1] != gallery_points.shape[1]:
        raise UserError(
            f"Queries and gallery lie in one space; got {points.shape[1]} and {gallery_points.shape[1]} dimensions: "
            "embed both with the same net."
        )
    kind = np.result_type(points, gallery_points)
    points, gallery_points = points.astype(kind, copy=False), gallery_points.astype(kind, copy=False)
    classes, others, class_ids = _read_both(labels, gallery_labels, points, gallery_points, "labels")
    own = gallery_own = None
    if cameras is not None:
        own, gallery_own, _ = _read_both(cameras, gallery_cameras, points, gallery_points, "cameras")
    return (
        _labeled(LabeledEmbeddings(points, classes, class_ids, own), "labels"),
        _labeled(LabeledEmbeddings(gallery_points, others, class_ids, gallery_own), "gallery_labels"),
    )


def _read_both(
    labels: Any, gallery_labels: Any, points: np.ndarray, gallery_points: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the labels of both sides as indices into their common classes, and these; -1 for one that is missing."""
    missing = name == "labels"
    index, own = read_labels(labels, len(points), name, missing=missing)
    gallery_index, others = read_labels(gallery_labels, len(gallery_points), f"gallery_{name}", missing=missing)
    classes, places, other_places = common_classes(own, others)
    return np.append(places, -1)[index], np.append(other_places, -1)[gallery_index], classes


def _array(values: Any, name: str, read: Callable[[Any], np.ndarray]) -> np.ndarray:
    try:
        return read(values)
    except ValueError:
        raise UserError(f"{name} is one array; got rows of unequal length.") from None


def _points(values: Any, name: str) -> np.ndarray:
    array = _array(values, name, to_numbers)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiub":
        raise UserError(
            f"{name} is an array of numbers, n × d, with at least one row; "
            f"got {array.dtype} of shape {' × '.join(map(str, array.shape)) or 'a single value'}."
        )
    return array
