"""Nearest neighbors of all points, from which t-SNE and UMAP start: exact, or of many points by an index. No torch."""

from collections.abc import Callable

import numpy as np

from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.ops.neighbor_index import NeighborTable, indexed_table

INDEXED_FROM = 15_000  # points
_WANTED_RECALL = 0.995  # of the rows that choose the regions; with less, maps of random clusters keep fewer neighbors


def nearest_others(points: np.ndarray, k: int, go_on: Callable[[], None]) -> NeighborTable:
    """Return the k nearest others of each point (n × d, finite): 99 % of them or so from 15,000 points on.

    Args:
        points: Points, for which Euclidean distance is the metric: see `prepare`.
        k: Number of neighbors, below n.
        go_on: Called about every second; may raise to cancel.
    """
    if len(points) >= INDEXED_FROM:
        return indexed_table(points, k, _WANTED_RECALL, go_on)
    squared, indices = EuclideanSearch(points).others(k, go_on=go_on)
    return NeighborTable(indices, np.sqrt(squared), 1.0, 0)
