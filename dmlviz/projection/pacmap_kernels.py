"""Compiled loops of PaCMAP and LocalMAP: see `Forces`. Imported by `compiled` only.

Each point's gradient is summed by itself, so that points can be divided among threads: the numbers stay the same.
"""

import numpy as np

from dmlviz.ops.kernel import kernel


@kernel("void(f4[:, ::1], i4[::1], i4[::1], f4[::1], f4, f4, f4, f4[:, ::1], i8, i8)")
def pull(y, indptr, indices, counts, constant, weight, local, gradient, start, stop):
    """Add to the gradient (dims × n) of the points from `start` to `stop` that of one kind of pairs.

    Args:
        y: Positions, dims × n.
        indptr: Where the pairs of each point begin (n + 1).
        indices: The other point of each pair.
        counts: How often each pair counts.
        constant: c of the loss d / (c + d), where d is 1 + |y_i − y_j|².
        weight: Weight of the pairs; below 0 they push.
        local: Where it is not 0, pairs count local/√d times.
        gradient: Results, dims × n.
        start: First point.
        stop: Point after the last.
    """
    strength, is_space, one = np.float32(2) * weight * constant, len(y) == 3, np.float32(1)
    for i in range(start, stop):
        x0, x1, x2 = y[0, i], y[1, i], y[-1, i]
        sum0, sum1, sum2 = np.float32(0), np.float32(0), np.float32(0)
        for pair in range(indptr[i], indptr[i + 1]):  # many at a time: branches are the same for all
            j = indices[pair]
            d0, d1, d2 = x0 - y[0, j], x1 - y[1, j], np.float32(0)
            if is_space:
                d2 = x2 - y[2, j]
            d = one + d0 * d0 + d1 * d1 + d2 * d2
            force = strength * counts[pair] / ((constant + d) * (constant + d))
            if local != 0:
                force *= local / np.sqrt(d)
            sum0 += force * d0
            sum1 += force * d1
            sum2 += force * d2
        gradient[0, i] += sum0
        gradient[1, i] += sum1
        if is_space:
            gradient[2, i] += sum2


@kernel("void(f4[:, ::1], i8[::1], i8[::1], i4[:, ::1], f4, i4[:, ::1], i8, i8)")
def draw_nearby(y, order, starts, neighbors, reach, further, start, stop):
    """Replace further points (n × m) by points within `reach`, as many as are met, that are no neighbors (n × k).

    The point in place i of `order`, which stands there twice in a row, meets those that are `starts` further on.
    """
    for place in range(start, stop):
        i, found = order[place], 0
        for number in range(len(starts)):
            j = order[place + starts[number]]
            squared = np.float32(0)
            for axis in range(len(y)):
                squared += (y[axis, i] - y[axis, j]) * (y[axis, i] - y[axis, j])
            is_taken = squared <= reach * reach
            for k in range(neighbors.shape[1]):
                is_taken &= neighbors[i, k] != j
            if is_taken:
                further[i, found] = j
                found += 1
                if found == further.shape[1]:
                    break
