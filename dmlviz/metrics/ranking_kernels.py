"""Compiled ranks of relevant items, without a sort of the gallery: see `Ranker`. Imported by `compiled` only."""

import numpy as np

from dmlviz.ops.kernel import kernel

_BUCKETS = 2048  # of the distances of relevant items
_CROWDED = 64  # items in one bucket, from which on the buckets save no time
_SIGNATURE = "void({i}[:, ::1], {f}[:, ::1], i8[::1], i8[::1], f8[::1], f8[::1], i8[:, ::1])"


@kernel([_SIGNATURE.format(i="i4", f="f4"), _SIGNATURE.format(i="i8", f="f8")])
def rank_hits(keys, squared, first_hit, hits_in_r, average_precision_at_r, average_precision, nearest):
    """Rank each query's relevant items: sort them alone, and count the irrelevant items before each.

    Args:
        keys: Packed distance and relevance (rows × gallery), as of `Ranker.keys`; each row has a relevant item.
        squared: The bits of the keys as squared distances.
        first_hit: Results: rank of the first relevant item (rows).
        hits_in_r: Results: number of relevant items among the first R (rows).
        average_precision_at_r: Results: AP@R (rows).
        average_precision: Results: average precision (rows).
        nearest: Results: the nearest items (rows × k), ties by index.
    """
    columns, k = keys.shape[1], nearest.shape[1]
    hits, ordered, near = np.empty(columns, keys.dtype), np.empty(columns, keys.dtype), np.empty(k, keys.dtype)
    values = np.empty(columns, squared.dtype)
    starts, at = np.empty(_BUCKETS + 1, np.int32), np.empty(_BUCKETS + 1, np.int32)
    before = np.empty(columns, np.int32)
    for row in range(len(keys)):
        own, distances = keys[row], squared[row]
        relevant = 0
        near[:] = np.iinfo(keys.dtype).max
        for column in range(columns):
            key = own[column]
            hits[relevant], values[relevant] = key, distances[column]
            relevant += key & 1
            if key < near[k - 1]:
                place = k - 1
                while place > 0 and near[place - 1] > key:
                    near[place], nearest[row, place] = near[place - 1], nearest[row, place - 1]
                    place -= 1
                near[place], nearest[row, place] = key, column
        low, high = values[0], values[0]
        for place in range(relevant):
            low, high = min(low, values[place]), max(high, values[place])
        scale = (_BUCKETS - 1) / (high - low) if high - low > 1e-30 else 0.0
        starts[:] = 0
        for place in range(relevant):
            starts[1 + int((values[place] - low) * scale)] += 1
        is_crowded = starts.max() > _CROWDED
        if is_crowded:
            hits[:relevant].sort()
        else:
            for bucket in range(_BUCKETS):
                starts[bucket + 1] += starts[bucket]
            at[:] = starts
            for place in range(relevant):
                bucket = int((values[place] - low) * scale)
                ordered[at[bucket]] = hits[place]
                at[bucket] += 1
            for place in range(relevant):
                key, to = ordered[place], place
                while to > 0 and hits[to - 1] > key:
                    hits[to] = hits[to - 1]
                    to -= 1
                hits[to] = key
        before[:relevant] = 0
        last = hits[relevant - 1]
        for column in range(columns):
            key = own[column]
            if key & 1 or key > last:
                continue
            if is_crowded:
                place = np.searchsorted(hits[:relevant], key)
            else:
                place = starts[max(0, int((distances[column] - low) * scale))]
                while hits[place] < key:
                    place += 1
            before[place] += 1
        total, within, rank, count = 0.0, 0.0, 0, 0
        for place in range(relevant):
            rank += 1 + before[place]
            precision = (place + 1) / rank
            total += precision
            if rank <= relevant:
                within += precision
                count += 1
        first_hit[row] = 1 + before[0]
        hits_in_r[row] = count
        average_precision_at_r[row], average_precision[row] = within / relevant, total / relevant
