"""Compiled loops of the quality of a map: see `projection_quality`. Imported by `compiled` only."""

import numpy as np

from dmlviz.ops.kernel import kernel

_NEAR = np.float32(0.01)  # of the sum of the squared norms
_BLOCK = 1024  # distances that are summed in single precision


@kernel("void(f4[:, ::1], f4[:, ::1], f4[::1], i8[::1])")
def refine(high, points, norms, rows):
    """Compute near squared distances (rows × n) from differences again: those of a product of matrices are rounded."""
    n, d = points.shape
    for row in range(len(rows)):
        own, line = points[rows[row]], high[row]
        norm = norms[rows[row]]
        for j in range(n):
            if line[j] < _NEAR * (norm + norms[j]):
                squared = np.float32(0)
                for axis in range(d):
                    squared += (own[axis] - points[j, axis]) * (own[axis] - points[j, axis])
                line[j] = squared


@kernel("void(f4[:, ::1], f8[:, ::1], i8[::1], i8[::1], i4[:, ::1], i4[:, ::1], i8, f8[:, ::1], f8[:, ::1])")
def measure(high, positions, rows, num_common, low_neighbors, high_neighbors, k, moments, penalties):
    """Write the moments of distances in two spaces, and Σ (rank − k) of neighbors in one that are none in the other.

    Args:
        high: Squared distances of some points to all in the embedding (rows × n); those to themselves become infinite.
        positions: Positions on the map (dims × n).
        rows: Indices of these points.
        num_common: Number of their neighbors in both spaces.
        low_neighbors: Neighbors on the map (rows × k), those that are none in the embedding first.
        high_neighbors: Neighbors in the embedding (rows × k), those that are none on the map first.
        k: Number of neighbors.
        moments: Results: Σa, Σb, Σaa, Σbb, Σab of distances in the embedding and on the map (5 × rows).
        penalties: Results: Σ (rank − k) of the first kind of neighbors in the embedding, of the second on the map.
    """
    dims, n = positions.shape
    low = np.empty(n, np.float32)
    for row in range(len(rows)):
        item, line = rows[row], high[row]
        low[:] = 0
        for axis in range(dims):
            along, own = positions[axis], positions[axis, item]
            for j in range(n):
                low[j] += np.float32((along[j] - own) * (along[j] - own))
        line[item] = low[item] = 0
        for start in range(0, n, _BLOCK):
            a, b, aa, bb, ab = np.float32(0), np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for j in range(start, min(start + _BLOCK, n)):
                first, second = np.sqrt(line[j]), np.sqrt(low[j])
                a += first
                b += second
                aa += line[j]
                bb += low[j]
                ab += first * second
            moments[0, row] += a
            moments[1, row] += b
            moments[2, row] += aa
            moments[3, row] += bb
            moments[4, row] += ab
        line[item] = low[item] = np.inf
        for place in range(k - num_common[row]):
            for space in range(2):
                distances = line if space == 0 else low
                bound = distances[low_neighbors[row, place] if space == 0 else high_neighbors[row, place]]
                closer = np.int32(0)
                for j in range(n):
                    closer += np.int32(distances[j] < bound)
                penalties[space, row] += max(closer + 1 - k, 0)
