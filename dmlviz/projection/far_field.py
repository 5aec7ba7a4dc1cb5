"""All points of a map as seen from a place: the near ones each, the far ones gathered in cells. Loads no torch."""

import numpy as np

from dmlviz.ops.neighbor_graph import query

_NUM_NEAR = 256
_GRID_CELLS = {2: 40, 3: 11}  # along each axis


class FarFieldSummary:
    """A map's points (n × dims), ready to be seen from anywhere on it, in time that hardly grows with n."""

    def __init__(self, places: np.ndarray) -> None:
        self._places = np.ascontiguousarray(places, np.float32)
        n, dims = places.shape
        low, high = places.min(axis=0), places.max(axis=0)
        across = _GRID_CELLS[dims]
        step = np.clip(((places - low) / np.where(high > low, high - low, 1) * across).astype(int), 0, across - 1)
        _, self._cell = np.unique(step @ across ** np.arange(dims), return_inverse=True)
        self._count = np.bincount(self._cell).astype(np.float64)
        self._sum = np.stack([np.bincount(self._cell, axis) for axis in places.T.astype(np.float64)], axis=1)
        self._near = min(_NUM_NEAR, n)

    def near_and_far(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Others (m × k × dims) and how many points each stands for (m × k), seen from m places."""
        _, near = query(np.ascontiguousarray(at, np.float32), self._places, self._near)
        m, cells = len(at), len(self._count)
        slot = (self._cell[near] + cells * np.arange(m)[:, None]).ravel()
        count = self._count - np.bincount(slot, minlength=m * cells).reshape(m, cells)
        known = self._places[near].astype(np.float64)
        taken = [np.bincount(slot, axis.ravel(), m * cells).reshape(m, cells) for axis in np.moveaxis(known, 2, 0)]
        middle = (self._sum - np.stack(taken, axis=2)) / np.maximum(count, 1)[:, :, None]
        return np.concatenate([known, middle], axis=1), np.concatenate([np.ones(near.shape), count], axis=1)
