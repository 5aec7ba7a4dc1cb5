"""The specs of losses on triplets."""

from dmlviz.catalog.losses._shared import distance, margin, reduction
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, PairThresholds, default_measure
from dmlviz.catalog.parameters import LossSpec, Parameter, Params, texts

_TRIPLETS = frozenset({"triplets"})


def _batch_hard_term(params: Params) -> str:
    gap = r"<\max_p d_{ap}> - <\min_n d_{an}>"
    return rf"\log\big(1 + e^{{{gap}}}\big)" if params["margin"] == "soft" else rf"\big[<m> + {gap}\big]_+"


TRIPLETS = [
    LossSpec(
        **texts("loss", "triplet"),
        tuple_kinds=_TRIPLETS,
        recommended={"sampler": "balanced", "miner": "random_hard_negative", "normalize": True},
        compares="triplets",
        parameters=(
            margin(0.2, "how much nearer than the negative the positive must be"),
            distance(),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "triplet_ratio"),
        tuple_kinds=_TRIPLETS,
        recommended={"sampler": "balanced"},
        compares="triplets",
        parameters=(
            margin(0.1, "distance below which the ratio is no longer trusted", minimum=0.001),
            distance(),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "triplet_soft"),
        tuple_kinds=_TRIPLETS,
        recommended={"sampler": "balanced", "normalize": False},
        compares="triplets",
        thresholds=lambda p, w: PairThresholds(default_measure(p, False), NEGLIGIBLE_LOGIT, is_hinge=False),
        parameters=(distance(), reduction()),
    ),
    LossSpec(
        **texts("loss", "batch_hard"),
        term=_batch_hard_term,
        recommended={"sampler": "balanced", "images_per_class": 2, "learning_rate": 2e-3, "steps": 1500},
        parameters=(
            Parameter(
                name="margin",
                kind=float,
                default=0.2,
                minimum=0,
                maximum=100,
                step=0.05,
                special_values=("soft",),
                help="how much nearer the positive must be; soft replaces the hinge by log(1 + e^…)",
            ),
            distance(),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "angular"),
        tuple_kinds=_TRIPLETS,
        on_sphere=True,
        recommended={"sampler": "balanced", "normalize": True},
        compares="triplets",
        parameters=(
            Parameter(
                name="alpha",
                kind=float,
                default=40,
                minimum=1,
                maximum=60,
                step=1,
                help="α, degrees: the angle at the negative may be no larger",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "coupled_clusters"),
        recommended={"sampler": "balanced"},
        class_centers="means",
        parameters=(margin(0.2, "how much nearer to the class mean its own images must be"), reduction()),
    ),
    LossSpec(
        **texts("loss", "hard_cluster"),
        recommended={"sampler": "balanced", "images_per_class": 5, "learning_rate": 1e-3},
        class_centers="means",
        # At 0.2, the usual margin of triplets, it stays below raw pixels at every learning rate and batch.
        parameters=(margin(1.0, "gap between a class's radius, squared, and the nearest other mean"), reduction()),
    ),
    LossSpec(
        **texts("loss", "hierarchical_triplet"),
        tuple_kinds=_TRIPLETS,
        on_sphere=True,
        recommended={"sampler": "balanced", "normalize": True},
        compares="triplets",
        thresholds=lambda p, w: PairThresholds("sqeuclidean", p["beta"]),
        parameters=(
            margin(0.1, "β: margin beyond what the tree asks for", name="beta", maximum=4),
            Parameter(name="levels", kind=int, default=16, minimum=1, maximum=100, help="L: levels of the class tree"),
            reduction(),
        ),
    ),
]
