"""Compiled loops of UMAP: see `CompiledForces`. Imported by `compiled` only.

A step reads all positions and writes those of some points, so that points can be divided among threads: the numbers
stay the same.
"""

import numpy as np
from numpy.polynomial import Polynomial

from dmlviz.ops.kernel import inlined, kernel

_BLOCK = 1024  # points


def _coefficients(function: np.ufunc, low: float, high: float) -> tuple[np.float32, ...]:
    x = np.polynomial.chebyshev.chebpts1(200) * (high - low) / 2 + (high + low) / 2
    return tuple(Polynomial.fit(x, function(x), 5).convert().coef.astype(np.float32))


# Off by less than 0.01 %; loops with these are computed for many points at a time, with the library's they are not.
_LOG2, _EXP2 = _coefficients(np.log2, 1, 2), _coefficients(np.exp2, 0, 1)


@inlined()
def _power(x, exponent):
    """Return x^exponent of an x > 0."""
    bits = np.float32(x).view(np.int32)
    t = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F800000)).view(np.float32)
    c = _LOG2
    mantissa = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))
    scaled = (np.float32((bits >> np.int32(23)) - np.int32(127)) + mantissa) * exponent
    scaled = min(max(scaled, np.float32(-100)), np.float32(100))
    whole = np.floor(scaled)
    t = scaled - whole
    c = _EXP2
    fraction = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))
    return np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32) * fraction


@kernel("void(f4[:, ::1], i8[::1], f4[:, ::1])")
def shuffle(y, order, shuffled):
    """Write positions (dims × n) in another order, twice in a row (dims × 2n)."""
    dims, n = y.shape
    for axis in range(dims):
        for i in range(n):
            shuffled[axis, i] = y[axis, order[i]]
        shuffled[axis, n:] = shuffled[axis, :n]


@kernel(
    "void(f4[:, ::1], f4[:, ::1], i4[::1], i4[::1], f4[::1], f4[::1], f4, f4[:, ::1], i8[::1], f4[::1], "
    "f4, f4, f4, f4, i8, i8)",
)
def move(
    y, moved, indptr, tails, weights, phases, iteration, shuffled, starts, push_rates, a, b, rate, clip, start, stop
):
    """Write the positions of the points from `start` to `stop` after one step.

    Args:
        y: Positions, dims × n.
        moved: Results, dims × n.
        indptr: Where the edges of each point begin (n + 1).
        tails: The other end of each edge.
        weights: How often an edge pulls in an iteration.
        phases: From 0 to 1: when it begins to.
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
                power = a * _power(forces[i], b)
                forces[i] = np.float32(2) * b / ((forces[i] + np.float32(0.001)) * (np.float32(1) + power))
            for axis in range(dims):
                own, others = y[axis, first : first + size], shuffled[axis, other : other + size]
                rates, sums = push_rates[first : first + size], change[axis, first - start : first - start + size]
                for i in range(size):
                    sums[i] += min(max(forces[i] * (own[i] - others[i]), -clip), clip) * rates[i]
    for i in range(start, stop):
        for place in range(indptr[i], indptr[i + 1]):
            due = phases[place] + weights[place] * iteration
            pulls = np.floor(due + weights[place]) - np.floor(due)
            if pulls > 0:
                j = tails[place]
                squared = np.float32(1e-12)
                for axis in range(dims):
                    difference = y[axis, i] - y[axis, j]
                    squared += difference * difference
                power = a * _power(squared, b)
                force = np.float32(-2) * b * pulls * power / (squared * (np.float32(1) + power))
                for axis in range(dims):
                    pulled = force * (y[axis, i] - y[axis, j])
                    change[axis, i - start] += min(max(pulled, -clip), clip)
        for axis in range(dims):
            moved[axis, i] = y[axis, i] + rate * change[axis, i - start]
