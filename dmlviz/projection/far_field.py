"""Barnes–Hut-like summary of a map: near points exactly, far points as one mean per grid cell. No torch."""

import numpy as np

from dmlviz.ops.nearest_neighbors import EuclideanSearch

_NUM_NEAR = 256
_GRID_CELLS = {2: 40, 3: 11}  # along each axis


class FarFieldSummary:
    """Summarizes the points of a map (n × dims) for any position on it, in time that hardly grows with n."""

    def __init__(self, positions: np.ndarray) -> None:
        self._positions = np.ascontiguousarray(positions, np.float32)
        n, dims = positions.shape
        low, high = positions.min(axis=0), positions.max(axis=0)
        cells = _GRID_CELLS[dims]
        step = np.clip(((positions - low) / np.where(high > low, high - low, 1) * cells).astype(int), 0, cells - 1)
        _, self._cell = np.unique(step @ cells ** np.arange(dims), return_inverse=True)
        self._count = np.bincount(self._cell).astype(np.float64)
        self._sum = np.stack([np.bincount(self._cell, axis) for axis in positions.T.astype(np.float64)], axis=1)
        self._num_near = min(_NUM_NEAR, n)

    def near_and_far(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Summarize the map around some positions.

        Args:
            queries: m × dims.

        Returns:
            Positions (m × k × dims): near points, then means of cells; and how many points each stands for (m × k).
        """
        _, near = EuclideanSearch(self._positions).search(np.ascontiguousarray(queries, np.float32), self._num_near)
        m, cells = len(queries), len(self._count)
        slot = (self._cell[near] + cells * np.arange(m)[:, None]).ravel()
        count = self._count - np.bincount(slot, minlength=m * cells).reshape(m, cells)
        near_positions = self._positions[near].astype(np.float64)
        near_sums = [
            np.bincount(slot, axis.ravel(), m * cells).reshape(m, cells) for axis in np.moveaxis(near_positions, 2, 0)
        ]
        means = (self._sum - np.stack(near_sums, axis=2)) / np.maximum(count, 1)[:, :, None]
        return np.concatenate([near_positions, means], axis=1), np.concatenate([np.ones(near.shape), count], axis=1)
