"""The specs of losses on pairs."""

import numpy as np

from dmlviz.catalog.losses._shared import distance, margin, reduction, scale
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, PairThresholds, default_measure
from dmlviz.catalog.parameters import LossSpec, Parameter, Params, Weights, texts

_PAIRS = frozenset({"pairs"})

_LEFT_ALONE = "distance from which images of different classes are left alone"
_CLOSE_ENOUGH = "distance up to which images of one class are left alone"


def _between_margins(params: Params, weights: Weights) -> PairThresholds:
    return PairThresholds.between(default_measure(params, False), params["pos_margin"], params["margin"])


def _boundary_thresholds(params: Params, weights: Weights) -> PairThresholds:
    boundary, room = float(np.mean(weights.get("beta", params["beta"]))), params["alpha"]
    return PairThresholds("euclidean", 2 * room, boundary - room, boundary, boundary + room)


def _logistic_thresholds(params: Params, weights: Weights) -> PairThresholds:
    margin = params["margin"]
    return PairThresholds("euclidean", NEGLIGIBLE_LOGIT, 0.0, margin, margin + NEGLIGIBLE_LOGIT, is_hinge=False)


def _multi_similarity_thresholds(params: Params, weights: Weights) -> PairThresholds:
    middle, pull, push = 1 - params["base"], NEGLIGIBLE_LOGIT / params["alpha"], NEGLIGIBLE_LOGIT / params["beta"]
    return PairThresholds("cosine", push, middle - pull, middle, middle + push, is_hinge=False)


def _circle_thresholds(params: Params, weights: Weights) -> PairThresholds:
    m = params["margin"]
    return PairThresholds("cosine", max(0.0, 1 - 2 * m), m, 0.5, 1 - m, is_hinge=False)


PAIRS = [
    LossSpec(
        **texts("loss", "contrastive"),
        tuple_kinds=_PAIRS,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=_between_margins,
        parameters=(margin(1.0, _LEFT_ALONE), margin(0.0, _CLOSE_ENOUGH, name="pos_margin"), reduction()),
    ),
    LossSpec(
        **texts("loss", "contrastive_linear"),
        tuple_kinds=_PAIRS,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=_between_margins,
        parameters=(
            margin(1.0, _LEFT_ALONE),
            margin(0.0, _CLOSE_ENOUGH, name="pos_margin"),
            distance(),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "contrastive_double"),
        tuple_kinds=_PAIRS,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=lambda p, w: PairThresholds.between("sqeuclidean", p["pos_margin"], p["margin"]),
        parameters=(
            margin(0.2, "squared distance up to which images of one class are left alone", name="pos_margin"),
            margin(1.0, "squared distance from which images of different classes are left alone"),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "contrastive_no_margin"),
        tuple_kinds=_PAIRS,
        recommended={"normalize": False},
        compares="pairs",
    ),
    LossSpec(
        **texts("loss", "cosine_pair"),
        tuple_kinds=_PAIRS,
        on_sphere=True,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=lambda p, w: PairThresholds.between("cosine", 0.0, 1.0),
        parameters=(reduction(),),
    ),
    LossSpec(
        **texts("loss", "distance_logistic"),
        tuple_kinds=_PAIRS,
        recommended={"normalize": False, "miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=_logistic_thresholds,
        parameters=(margin(1.0, "distance at which the probability is about a half"), reduction()),
    ),
    LossSpec(
        **texts("loss", "snr_contrastive"),
        tuple_kinds=_PAIRS,
        recommended={"normalize": False, "miner": "hard_negative_pairs", "learning_rate": 2e-3},
        compares="pairs",
        parameters=(
            margin(0.0, "ratio up to which images of one class are left alone", name="pos_margin"),
            margin(1.0, "ratio from which images of different classes are left alone"),
            Parameter(
                name="regularizer",
                kind=float,
                default=0.1,
                minimum=0,
                maximum=10,
                step=0.05,
                help="keeps the mean of each embedding's coordinates near zero",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "margin"),
        tuple_kinds=_PAIRS | {"triplets"},
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=_boundary_thresholds,
        parameters=(
            margin(0.2, "room to keep on either side of the boundary", name="alpha"),
            margin(1.2, "where the boundary starts", name="beta"),
            Parameter(name="per_class", kind=bool, default=False, help="learn a boundary for each class"),
            reduction("nonzero"),
        ),
    ),
    LossSpec(
        **texts("loss", "multi_similarity"),
        tuple_kinds=_PAIRS,
        on_sphere=True,
        recommended={"miner": "multi_similarity"},
        thresholds=_multi_similarity_thresholds,
        parameters=(
            scale(2.0, "how much farther positives outweigh the others", name="alpha"),
            scale(50.0, "how much nearer negatives outweigh the others", name="beta"),
            Parameter(
                name="base",
                kind=float,
                default=0.5,
                minimum=-1,
                maximum=1,
                step=0.05,
                help="cosine between near and far",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "circle"),
        tuple_kinds=_PAIRS,
        on_sphere=True,
        thresholds=_circle_thresholds,
        parameters=(
            margin(0.4, "how far from 1 and from 0 the cosines may stay", maximum=1),
            scale(80.0, "how sharply the hardest pairs dominate", name="gamma"),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "logistic_pair"),
        tuple_kinds=_PAIRS,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        parameters=(reduction(),),
    ),
    LossSpec(
        **texts("loss", "hinge_pair"),
        tuple_kinds=_PAIRS,
        recommended={"miner": "balanced_pairs"},
        compares="pairs",
        parameters=(
            Parameter(
                name="hidden", kind=int, default=32, minimum=1, maximum=256, step=1, help="units of the decision net"
            ),
            reduction(),
        ),
    ),
]
