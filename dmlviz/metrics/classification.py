"""Whether simple rules name the class: the vote of the neighbours, the nearest class mean."""

import numpy as np

from dmlviz.metrics.inputs import Embedded


def vote(classes: np.ndarray) -> np.ndarray:
    """The commonest of each row of classes (n × k, nearest first); of equally common ones the one seen first."""
    counts = (classes[:, :, None] == classes[:, None, :]).sum(axis=2)
    return np.take_along_axis(classes, counts.argmax(axis=1)[:, None], axis=1)[:, 0]


def nearest_mean(
    queries: Embedded, gallery: Embedded | None, points: np.ndarray, gallery_points: np.ndarray, used: np.ndarray
) -> float:
    """The share of the queries `used` whose nearest class mean is that of their class; NaN of none.

    `points` and `gallery_points` are theirs and the gallery's, conditioned. Without a gallery each query is left out of
    the mean of its own class.
    """
    if not len(used):
        return float("nan")
    itself, gallery = gallery is None, gallery or queries
    points, classes = points[used], queries.classes[used]
    sums, present = gallery.class_sums(gallery_points), gallery.counts > 0
    means = sums[present] / gallery.counts[present, None]
    column = (np.cumsum(present) - 1)[classes]
    squared = (points**2).sum(axis=1)[:, None] - 2 * points @ means.T + (means**2).sum(axis=1)
    if itself:
        own = (sums[classes] - points) / (gallery.counts[classes] - 1)[:, None]
        squared[np.arange(len(points)), column] = ((points - own) ** 2).sum(axis=1)
    return float((squared.argmin(axis=1) == column).mean())
