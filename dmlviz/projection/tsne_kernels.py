"""Compiled loops of t-SNE in the plane: see `CompiledDescent`. Imported by `compiled` only.

Each point's force is summed by itself, so that points can be divided among threads: the numbers stay the same.
"""

import numpy as np

from dmlviz.ops.kernel import inlined, kernel
from dmlviz.projection.power_kernels import log2

_EDGES = 64  # at a time


@inlined()
def _weights(t):
    """Return weights of a cubic B-spline on the four nodes around t, which lies in [0, 1) between the middle two."""
    u = np.float32(1) - t
    sixth, two_thirds, three, six = np.float32(1 / 6), np.float32(2 / 3), np.float32(3), np.float32(6)
    return (
        u * u * u * sixth,
        (three * t - six) * t * t * sixth + two_thirds,
        (three * u - six) * u * u * sixth + two_thirds,
        t * t * t * sixth,
    )


@inlined()
def _slopes(t):
    u = np.float32(1) - t
    half, one_and_a_half, two = np.float32(0.5), np.float32(1.5), np.float32(2)
    return -u * u * half, (one_and_a_half * t - two) * t, (two - one_and_a_half * u) * u, t * t * half


@kernel("void(f4[:, ::1], f4[::1], f4, f4[:, ::1])")
def spread(y, low, cells, density):
    """Spread points (n × 2) over the nodes of a grid that begins one cell before `low`; `cells` is 1 / spacing."""
    density[:] = 0
    for i in range(len(y)):
        x0 = (y[i, 0] - low[0]) * cells + np.float32(1)
        x1 = (y[i, 1] - low[1]) * cells + np.float32(1)
        row, column = np.int64(x0), np.int64(x1)
        across, along = _weights(x0 - np.float32(row)), _weights(x1 - np.float32(column))
        for a in range(4):
            for b in range(4):
                density[row - 1 + a, column - 1 + b] += across[a] * along[b]


@kernel("f8(f4[:, ::1], f4[::1], f4, f4[:, ::1], f4[:, ::1])")
def gather(y, low, cells, potential, push):
    """Write minus half the gradient of the potential at every point; return the sum of the potential."""
    total = 0.0
    for i in range(len(y)):
        x0 = (y[i, 0] - low[0]) * cells + np.float32(1)
        x1 = (y[i, 1] - low[1]) * cells + np.float32(1)
        row, column = np.int64(x0), np.int64(x1)
        t0, t1 = x0 - np.float32(row), x1 - np.float32(column)
        across, along, across_slope, along_slope = _weights(t0), _weights(t1), _slopes(t0), _slopes(t1)
        value, slope0, slope1 = np.float32(0), np.float32(0), np.float32(0)
        for a in range(4):
            here, change = np.float32(0), np.float32(0)
            for b in range(4):
                node = potential[row - 1 + a, column - 1 + b]
                here += along[b] * node
                change += along_slope[b] * node
            value += across[a] * here
            slope0 += across_slope[a] * here
            slope1 += across[a] * change
        total += value
        push[i, 0] = np.float32(-0.5) * cells * slope0
        push[i, 1] = np.float32(-0.5) * cells * slope1
    return total


@kernel("f8(f4[:, ::1], f4[:, ::1], i8, i8)")
def repel(y, push, start, stop):
    """Write the exact repulsion of the points from `start` to `stop`; return their sum of 1/(1 + |y_i − y_j|²)."""
    total = 0.0
    for i in range(start, stop):
        x0, x1 = y[i, 0], y[i, 1]
        value, push0, push1 = np.float32(0), np.float32(0), np.float32(0)
        for j in range(len(y)):
            d0, d1 = x0 - y[j, 0], x1 - y[j, 1]
            kernel = np.float32(1) / (np.float32(1) + d0 * d0 + d1 * d1)
            value += kernel
            push0 += kernel * kernel * d0
            push1 += kernel * kernel * d1
        total += value - np.float32(1)
        push[i, 0], push[i, 1] = push0, push1
    return total


@inlined()
def _gather(y, others, along0, along1):
    """Write the positions of some points, so that what follows is computed for many at a time."""
    for place in range(len(others)):
        along0[place], along1[place] = y[others[place], 0], y[others[place], 1]


@kernel("void(f4[:, ::1], i4[::1], i4[::1], f4[::1], f4[:, ::1], i8, i8)")
def attract(y, indptr, indices, affinities, pull, start, stop):
    """Write Σ_j p_ij (y_i − y_j) / (1 + |y_i − y_j|²) of the points from `start` to `stop`."""
    along0, along1 = np.empty(_EDGES, np.float32), np.empty(_EDGES, np.float32)
    for i in range(start, stop):
        x0, x1 = y[i, 0], y[i, 1]
        pull0, pull1 = np.float32(0), np.float32(0)
        for begin in range(indptr[i], indptr[i + 1], _EDGES):
            size = min(_EDGES, indptr[i + 1] - begin)
            _gather(y, indices[begin : begin + size], along0, along1)
            own = affinities[begin : begin + size]
            for place in range(size):
                d0, d1 = x0 - along0[place], x1 - along1[place]
                weight = own[place] / (np.float32(1) + d0 * d0 + d1 * d1)
                pull0 += weight * d0
                pull1 += weight * d1
        pull[i, 0], pull[i, 1] = pull0, pull1


@kernel("f8(f4[:, ::1], i4[::1], i4[::1], f4[::1])")
def cross_entropy(y, indptr, indices, affinities):
    """Return Σ p_ij log(1 + |y_i − y_j|²)."""
    total = 0.0
    along0, along1 = np.empty(_EDGES, np.float32), np.empty(_EDGES, np.float32)
    for i in range(len(y)):
        x0, x1 = y[i, 0], y[i, 1]
        sum_own = np.float32(0)
        for begin in range(indptr[i], indptr[i + 1], _EDGES):
            size = min(_EDGES, indptr[i + 1] - begin)
            _gather(y, indices[begin : begin + size], along0, along1)
            own = affinities[begin : begin + size]
            for place in range(size):
                d0, d1 = x0 - along0[place], x1 - along1[place]
                sum_own += own[place] * log2(np.float32(1) + d0 * d0 + d1 * d1)
        total += sum_own
    return total * np.log(2.0)


@kernel("void(f4[:, ::1], f4[:, ::1])")
def bound(y, bounds):
    """Write the smallest and the largest coordinate along each axis (2 × 2)."""
    for axis in range(2):
        low, high = y[0, axis], y[0, axis]
        for i in range(len(y)):
            low, high = min(low, y[i, axis]), max(high, y[i, axis])
        bounds[0, axis], bounds[1, axis] = low, high


@kernel("void(f4[:, ::1], f4[:, ::1], f4[:, ::1], f4, f4, f4, f4, f4, f4[:, ::1], f4[:, ::1])")
def step(y, pull, push, exaggeration, total, rate, momentum, longest, velocity, gains):
    """Move the points down the gradient with momentum and gains, none farther than `longest`, and center them."""
    n = len(y)
    mean0, mean1 = 0.0, 0.0
    for i in range(n):  # forces sum to zero
        mean0 += push[i, 0]
        mean1 += push[i, 1]
    average = (np.float32(mean0 / n), np.float32(mean1 / n))
    mean0, mean1 = 0.0, 0.0
    for i in range(n):
        length = np.float32(0)
        for axis in range(2):
            gradient = np.float32(4) * (exaggeration * pull[i, axis] - (push[i, axis] - average[axis]) / total)
            if np.sign(velocity[i, axis]) != np.sign(gradient):
                gains[i, axis] += np.float32(0.2)
            else:
                gains[i, axis] = max(gains[i, axis] * np.float32(0.8), np.float32(0.01))
            velocity[i, axis] = momentum * velocity[i, axis] - rate * gains[i, axis] * gradient
            length += velocity[i, axis] * velocity[i, axis]
        length = np.sqrt(length)
        if length > longest:
            velocity[i, 0] *= longest / length
            velocity[i, 1] *= longest / length
        y[i, 0] += velocity[i, 0]
        y[i, 1] += velocity[i, 1]
        mean0 += y[i, 0]
        mean1 += y[i, 1]
    average = (np.float32(mean0 / n), np.float32(mean1 / n))
    for i in range(n):
        y[i, 0] -= average[0]
        y[i, 1] -= average[1]
