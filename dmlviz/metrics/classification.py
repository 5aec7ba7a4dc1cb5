"""k-NN majority vote and nearest-class-mean accuracy."""

import numpy as np

from dmlviz.metrics.inputs import LabeledEmbeddings, class_and_camera, sum_by_group
from dmlviz.ops.ball import curvature_of, from_sums, hyperboloid
from dmlviz.ops.squared_distances import SquaredDistances, squared_differences


def majority_vote(classes: np.ndarray) -> np.ndarray:
    """Return the most frequent class of each row (n × k, nearest first); ties go to the nearest.

    Examples:
        >>> majority_vote(np.array([[2, 1, 1], [2, 1, 0]])).tolist()
        [1, 2]
    """
    counts = (classes[:, :, None] == classes[:, None, :]).sum(axis=2)
    return np.take_along_axis(classes, counts.argmax(axis=1)[:, None], axis=1)[:, 0]


def nearest_class_mean(
    queries: LabeledEmbeddings,
    gallery: LabeledEmbeddings | None,
    points: np.ndarray,
    gallery_points: np.ndarray,
    used: np.ndarray,
) -> float:
    """Return the accuracy of nearest-class-mean classification.

    Args:
        queries: Queries with their classes.
        gallery: Gallery whose class means are used; None for the queries, each excluded from the mean of its class.
            With cameras, the images of its class and camera are excluded from that mean.
        points: The queries' embeddings, rescaled (see `rescale`).
        gallery_points: The gallery's embeddings, rescaled alike.
        used: Indices of the queries to count.

    Returns:
        The share of correct queries; NaN without queries.
    """
    if not len(used):
        return float("nan")
    itself, gallery = gallery is None, gallery or queries
    points, classes = points[used], queries.classes[used]
    curvature = curvature_of(gallery_points)  # in a ball means are taken on its hyperboloid
    own, summed = (hyperboloid(points), hyperboloid(gallery_points)) if curvature else (points, gallery_points)
    sums = sum_by_group(summed, gallery.classes, len(gallery.class_ids))
    present = gallery.counts > 0
    column = (np.cumsum(present) - 1)[classes]
    if curvature:
        squared = SquaredDistances(points, from_sums(sums[present], curvature), np.dtype(np.float64)).of(slice(None))
    else:
        means = sums[present] / gallery.counts[present, None]
        squared = (points**2).sum(axis=1)[:, None] - 2 * points @ means.T + (means**2).sum(axis=1)
    excluded: tuple[np.ndarray, np.ndarray | int] | None = (own, 1) if itself else None  # their sum and number
    if gallery.cameras is not None:
        groups, gallery_groups = class_and_camera(queries, gallery)
        counts = np.bincount(gallery_groups, minlength=int(groups.max()) + 1)
        excluded = sum_by_group(summed, gallery_groups, len(counts))[groups[used]], counts[groups[used]]
    if excluded is not None:
        rest, every = sums[classes] - excluded[0], np.arange(len(points))
        if curvature:
            apart = squared_differences(points, from_sums(rest, curvature), every, every)
        else:
            apart = ((points - rest / (gallery.counts[classes] - excluded[1])[:, None]) ** 2).sum(axis=1)
        squared[every, column] = apart
    return float((squared.argmin(axis=1) == column).mean())
