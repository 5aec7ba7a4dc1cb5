"""Losses on pairs, as they are offered."""

from dmlviz.declarations import LossDeclaration
from dmlviz.losses.parameters import margin, reduction

_PAIRS = frozenset({"pairs"})

PAIRS = [
    LossDeclaration(
        name="contrastive",
        title="Contrastive",
        family="pairs",
        summary="Pulls images of a class together and pushes others apart until they are a margin away.",
        formula=r"P:\ [d-m^+]_+^2 \qquad N:\ [m-d]_+^2",
        reference="Hadsell, Chopra, LeCun: Dimensionality reduction by learning an invariant mapping, CVPR 2006",
        accepts=_PAIRS,
        recommended={"normalize": False, "miner": "hard_negative_pairs"},
        parameters=(
            margin(1.0, "distance from which a pair of different classes is left alone"),
            margin(0.0, "distance up to which a pair of one class is left alone", name="pos_margin"),
            reduction(),
        ),
    ),
]
