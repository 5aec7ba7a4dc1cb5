"""Candidates for the nearest others of every point, from all pairs: a matrix product, and one compiled look at it."""

from collections.abc import Callable
from types import ModuleType

import faiss
import numpy as np

from dmlviz.ops.compiled import compiled
from dmlviz.ops.squared_distances import single_threaded_blas

FROM = 10_000  # points; below, FAISS is as fast
_BLOCK_ROWS = 512
_POINTS_A_LIST = 256
_TRAINED_ON = 32  # points a list


def nearest_candidates(
    points: np.ndarray, k: int, go_on: Callable[[], None] = lambda: None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the k nearest others of every point, up to the rounding of float32.

    Each pair is computed once. Points of one region lie next to each other in memory, and regions are compared with
    themselves first: later pairs are then rarely near enough to be looked at twice.

    Args:
        points: Points (n × d), float32, centered.
        k: Number of neighbors, below n.
        go_on: Called several times a second; may raise to cancel.

    Returns:
        Indices (n × k, int32, in any order) and the squared distance (n) of the farthest of them; None without kernels.
    """
    kernels = compiled(load_kernels)
    if kernels is None:
        return None
    n = len(points)
    order = _by_region(points)
    points = points[order]
    squares = np.einsum("nd,nd->n", points, points)[:, None]
    ones = np.ones_like(squares)
    left, right = np.hstack([-2 * points, squares, ones]), np.hstack([points, ones, squares])
    keys, counts = np.empty((n, 2 * k), np.uint64), np.zeros(n, np.int32)
    limits = np.full(n, np.inf, np.float32)
    starts = range(0, n, _BLOCK_ROWS)
    with single_threaded_blas():
        for distance in range(len(starts)):
            go_on()
            for row, column in zip(starts, starts[distance:], strict=False):
                squared = left[row : row + _BLOCK_ROWS] @ right[column : column + _BLOCK_ROWS].T
                kernels.collect(squared, row, column, limits, keys, counts, k)
    indices, farthest = np.empty((n, k), np.int32), np.empty(n, np.float32)
    kernels.keep_nearest(keys, counts, k, order, indices, farthest)
    return indices, farthest


def load_kernels() -> ModuleType:
    """Import the kernels: for `compiled`."""
    from dmlviz.ops import neighbor_kernels

    return neighbor_kernels


def _by_region(points: np.ndarray) -> np.ndarray:
    """Return an order of the points in which those of one region are together."""
    n, d = points.shape
    lists = n // _POINTS_A_LIST
    sample = np.random.default_rng(0).permutation(n)[: lists * _TRAINED_ON]
    means = faiss.Kmeans(d, lists, niter=4, min_points_per_centroid=1)
    means.train(points[sample])
    centroids = np.asarray(means.centroids)
    along = np.linalg.svd(centroids - centroids.mean(axis=0), full_matrices=False)[2][0]
    rank = np.argsort(np.argsort(centroids @ along))
    return np.argsort(rank[means.assign(points)[1]], kind="stable")
