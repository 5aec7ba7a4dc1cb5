"""Losses on the structure of a batch, as they are offered."""

from dmlviz.declarations import LossDeclaration, Parameter
from dmlviz.losses.parameters import reduction

_PAIRS = frozenset({"pairs"})

STRUCTURED = [
    LossDeclaration(
        name="nt_xent",
        title="NT-Xent",
        family="structured",
        summary="Each positive pair against all negatives of its anchor, as a softmax over cosines.",
        formula=r"\log\Big(1+\sum_{n\in N(a)} e^{(s_{an}-s_{ap})/\tau}\Big)",
        reference="van den Oord, Li, Vinyals: Representation learning with contrastive predictive coding, 2018; "
        "Chen, Kornblith, Norouzi, Hinton: A simple framework for contrastive learning (SimCLR), ICML 2020",
        accepts=_PAIRS,
        on_sphere=True,
        parameters=(
            Parameter(
                name="temperature",
                kind=float,
                default=0.1,
                minimum=0.001,
                maximum=10,
                step=0.01,
                help="how sharply the nearest negatives dominate; 1 is InfoNCE",
            ),
            reduction(),
        ),
    ),
]
