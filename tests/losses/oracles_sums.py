"""Oracles of sums: the two losses by themselves, added."""


def added(a, b, weights=(1.0, 1.0)):
    def compute(case, loss):
        parts = []
        for weight, inner in zip(weights, (loss.a, loss.b), strict=True):
            pairs = case.tuples is not None and len(case.tuples) == 4
            takes = inner.declaration.tuple_kinds >= {"pairs" if pairs else "triplets"}
            parts.append(weight * inner(case.x, case.labels, case.tuples if takes else None))
        assert [inner.declaration.name for inner in (loss.a, loss.b)] == [a, b]
        return parts[0] + parts[1]

    return compute


ORACLES = [
    ("weighted_sum", {}, added("contrastive", "softmax"), ("permutation",)),
    (
        "weighted_sum",
        {"a": {"name": "triplet", "margin": 0.5}, "b": "arcface", "weights": (1, 0.1)},
        added("triplet", "arcface", (1, 0.1)),
        ("permutation",),
    ),
    (
        "weighted_sum",
        {"a": "normalized_softmax", "b": "proxy_nca", "weights": [0.5, 2]},
        added("normalized_softmax", "proxy_nca", (0.5, 2)),
        ("permutation",),
    ),
]
