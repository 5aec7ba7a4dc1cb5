"""Compiled loops of UMAP: see `CompiledForces`. Imported by `compiled` only.

A step reads all positions and writes those of some points, so that points can be divided among threads: the numbers
stay the same.
"""

import numpy as np

from dmlviz.ops.kernel import kernel
from dmlviz.projection.power_kernels import power

_BLOCK = 1024  # points, or edges


@kernel("void(f4[:, ::1], i8[::1], f4[:, ::1])")
def shuffle(y, order, shuffled):
    """Write positions (dims × n) in another order, twice in a row (dims × 2n)."""
    dims, n = y.shape
    for axis in range(dims):
        for i in range(n):
            shuffled[axis, i] = y[axis, order[i]]
        shuffled[axis, n:] = shuffled[axis, :n]


@kernel(
    "void(f4[:, ::1], f4[:, ::1], i4[::1], i4[:, ::1], f4[:, ::1], f4, f4[:, ::1], i8[::1], f4[::1], "
    "f4, f4, f4, f4, i8, i8)",
)
def move(y, moved, indptr, ends, weights, iteration, shuffled, starts, push_rates, a, b, rate, clip, start, stop):
    """Write the positions of the points from `start` to `stop` after one step.

    Args:
        y: Positions, dims × n.
        moved: Results, dims × n.
        indptr: Where the edges of each point begin (n + 1).
        ends: The point of each edge, and its other end (2 × edges).
        weights: How often an edge pulls in an iteration, and from 0 to 1 when it begins to (2 × edges).
        iteration: Iterations done.
        shuffled: Positions in random order, twice: each point is repelled by those that are `starts` further on.
        starts: Random offsets.
        push_rates: Weight of each point's repulsion (n).
        a: Parameter of the curve 1/(1 + a d^2b).
        b: Parameter of the curve.
        rate: Length of the step.
        clip: Maximum change of a coordinate by one force, before `rate`.
        start: First point.
        stop: Point after the last.
    """
    dims = len(y)
    change = np.zeros((dims, stop - start), np.float32)
    forces = np.empty(_BLOCK, np.float32)
    for first in range(start, stop, _BLOCK):  # short loops over few numbers: each computes many points at a time
        size = min(_BLOCK, stop - first)
        for number in range(len(starts)):
            other = first + starts[number]
            forces[:size] = np.float32(1e-12)
            for axis in range(dims):
                own, others = y[axis, first : first + size], shuffled[axis, other : other + size]
                for i in range(size):
                    forces[i] += (own[i] - others[i]) * (own[i] - others[i])
            for i in range(size):
                grown = a * power(forces[i], b)
                forces[i] = np.float32(2) * b / ((forces[i] + np.float32(0.001)) * (np.float32(1) + grown))
            for axis in range(dims):
                own, others = y[axis, first : first + size], shuffled[axis, other : other + size]
                rates, sums = push_rates[first : first + size], change[axis, first - start : first - start + size]
                for i in range(size):
                    sums[i] += min(max(forces[i] * (own[i] - others[i]), -clip), clip) * rates[i]
    active, d = np.empty((2, _BLOCK), np.int32), np.empty((dims, _BLOCK), np.float32)
    for first in range(indptr[start], indptr[stop], _BLOCK):
        size = min(_BLOCK, indptr[stop] - first)
        for place in range(size):
            due = weights[1, first + place] + weights[0, first + place] * iteration
            forces[place] = np.floor(due + weights[0, first + place]) - np.floor(due)
        count = 0
        for place in range(size):  # without a branch that cannot be foreseen
            active[0, count], active[1, count] = ends[0, first + place], ends[1, first + place]
            pulls = forces[place]
            forces[count] = pulls
            count += np.int64(pulls > 0)
        for axis in range(dims):
            for place in range(count):
                d[axis, place] = y[axis, active[0, place]] - y[axis, active[1, place]]
        for place in range(count):
            squared = np.float32(1e-12)
            for axis in range(dims):
                squared += d[axis, place] * d[axis, place]
            grown = a * power(squared, b)
            force = np.float32(-2) * b * forces[place] * grown / (squared * (np.float32(1) + grown))
            for axis in range(dims):
                d[axis, place] = min(max(force * d[axis, place], -clip), clip)
        for axis in range(dims):
            for place in range(count):
                change[axis, active[0, place] - start] += d[axis, place]
    for axis in range(dims):
        for i in range(start, stop):
            moved[axis, i] = y[axis, i] + rate * change[axis, i - start]
