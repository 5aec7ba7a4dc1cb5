"""Compiled parts of a search among all pairs: see `Regions`. Imported by `compiled` only."""

import numpy as np
from numba import njit

from dmlviz.ops.kernel import kernel

_FAR = np.float32(np.inf)
_LANES = 64  # distances that are compared at a time


@njit(nogil=True)
def _keep_smallest(values, k):
    """Move the k smallest values to the front: quickselect, whose inner loop has no branch to guess wrong."""
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        pivot, values[middle] = values[middle], values[high]
        place = low
        for at in range(low, high):
            value = values[at]
            values[at] = values[place]
            values[place] = value
            place += value < pivot
        values[high] = values[place]
        values[place] = pivot
        if place < k - 1:
            low = place + 1
        elif place > k:
            high = place - 1
        else:
            return


@njit(nogil=True)
def _insert(i, j, distance, limits, keys, counts, k):
    own = keys[i]
    bits = np.float32(max(distance, np.float32(0))).view(np.uint32)  # rounding makes tiny distances negative
    own[counts[i]] = (np.uint64(bits) << np.uint64(32)) | np.uint64(j)
    counts[i] += 1
    if counts[i] == len(own):
        _keep_smallest(own, k)
        counts[i] = k
        largest = own[0]
        for place in range(1, k):
            largest = max(largest, own[place])
        limits[i] = np.uint32(largest >> np.uint64(32)).view(np.float32)


@njit("f4(f4[::1], f4, f4[::1])", nogil=True, fastmath=True)
def _num_near(distances, limit, limits):
    """Return the number of distances within the limit of their row or column: a loop of vectors, of floats alone."""
    num_near = np.float32(0)
    for place in range(len(distances)):
        num_near += np.float32(1) if distances[place] <= max(limit, limits[place]) else np.float32(0)
    return num_near


@kernel("void(f4[:, ::1], i8, i8, f4[::1], u8[:, ::1], i4[::1], i8)")
def collect(squared, first_row, first_column, limits, keys, counts, k):
    """Collect candidates from a block of squared distances, for its rows and for its columns.

    A key is the bits of a distance followed by the other point's index, so that keys are ordered by distance, ties by
    index, and the k smallest do not depend on the order in which blocks come.

    Args:
        squared: Squared distances of some points to some points (rows × columns).
        first_row: Index of the point of the first row.
        first_column: Index of the point of the first column; equal to `first_row` for a block on the diagonal.
        limits: Squared distance (n) from which on a point is no candidate, updated here.
        keys: Candidates of each point, n × more than k, of which `counts` are used.
        counts: Number of candidates (n).
        k: Number of candidates to keep.
    """
    rows, columns = squared.shape
    other_limits = limits[first_column : first_column + columns]
    for row in range(rows):
        i = first_row + row
        line = squared[row]
        for start in range(0, columns, _LANES):
            end = min(start + _LANES, columns)
            if _num_near(line[start:end], limits[i], other_limits[start:end]) == 0:
                continue
            for column in range(start, end):
                j = first_column + column
                distance = line[column]
                if i != j and distance <= limits[i]:
                    _insert(i, j, distance, limits, keys, counts, k)
                if first_row != first_column and distance <= limits[j]:
                    _insert(j, i, distance, limits, keys, counts, k)


@kernel("void(u8[:, ::1], i4[::1], i8, i8[::1], i4[:, ::1], f4[::1])")
def keep_nearest(keys, counts, k, order, indices, farthest):
    """Write the k nearest of the collected candidates.

    Args:
        keys: As of `collect`.
        counts: As of `collect`.
        k: Number of neighbors.
        order: What the points of `keys` are called in the results (n).
        indices: Results, n × k, in any order; where there are fewer candidates, the last ones stay as they are.
        farthest: Results: the largest squared distance (n), infinite where there are fewer.
    """
    for point in range(len(keys)):
        own, row = keys[point], order[point]
        if counts[point] > k:
            _keep_smallest(own[: counts[point]], k)
        largest = np.uint64(0)
        for place in range(min(k, counts[point])):
            largest = max(largest, own[place])
            indices[row, place] = order[np.int64(own[place] & np.uint64(0xFFFFFFFF))]
        farthest[row] = np.uint32(largest >> np.uint64(32)).view(np.float32) if counts[point] >= k else _FAR
