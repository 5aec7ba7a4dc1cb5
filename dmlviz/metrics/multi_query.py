"""Several queries of one class in place of one: pooled before the search."""

from typing import Any, Literal

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics.inputs import LabeledEmbeddings, read
from dmlviz.ops.pairwise_numpy import of_equal_length


def pooled_queries(
    embeddings: Any, labels: Any, size: int = 5, pool: Literal["mean", "max"] = "mean", *, cameras: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Pool queries of one class, and of one camera, into one: as many as there are, but at most so many.

    Where all queries have length 1, so have the pooled ones: else none would be a neighbor of a neighbor's.

    Args:
        embeddings: Queries, n × d.
        labels: Their class ids, n; those without one (None, NaN) are left out.
        size: Queries that are pooled into one; the last of a class are fewer.
        pool: "mean" or "max" of each coordinate.
        cameras: Camera ids, n: queries of two cameras stay apart.

    Returns:
        The pooled queries (m × d), and of each the row of its first query (m), which has its label and camera.

    Raises:
        UserError: For input of a wrong shape, a size below 1, or another pooling.

    Reference:
        Zheng, Shen, Tian, Wang, Wang, Tian: Scalable person re-identification (Market-1501), ICCV 2015.

    Examples:
        >>> points, rows = pooled_queries([[0.0], [8.0], [1.0]], ["a", "b", "a"])
        >>> points.ravel().tolist(), rows.tolist()
        ([0.5, 8.0], [0, 1])
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1 or pool not in ("mean", "max"):
        raise UserError(f"Queries are pooled by mean or max, 1 or more into one; got {pool} of {size}.")
    given = read(embeddings, labels, cameras)
    order, rows, place = _in_groups(given)
    first = np.flatnonzero(place % size == 0)
    points = given.points[order].astype(np.float64)
    pooled = (np.add if pool == "mean" else np.maximum).reduceat(points, first, axis=0)
    if pool == "mean":
        pooled /= np.diff(np.append(first, len(order)))[:, None]
    pooled = of_equal_length(pooled, points)
    return pooled.astype(np.result_type(given.points, np.float32)), rows[first]


def every_other(labels: Any, cameras: Any = None) -> np.ndarray:
    """Return a mask (n) of every other image of a class and camera: queries, where embeddings have no gallery.

    Args:
        labels: Class ids, n; images without one are no queries.
        cameras: Camera ids, n.
    """
    _, rows, place = _in_groups(read(np.zeros((len(labels), 1)), labels, cameras))
    queries = np.zeros(len(labels), bool)
    queries[rows] = place % 2 == 0
    return queries


def _in_groups(given: LabeledEmbeddings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points by class and camera, their rows as given, and which of its group each is, from 0 (n each)."""
    group = given.classes
    if given.cameras is not None:
        group = group * (given.cameras.max() + 1) + given.cameras
    order = np.argsort(group, kind="stable")
    _, starts, counts = np.unique(group[order], return_index=True, return_counts=True)
    rows = np.arange(len(order)) if given.labeled is None else np.flatnonzero(given.labeled)
    return order, rows[order], np.arange(len(order)) - np.repeat(starts, counts)
