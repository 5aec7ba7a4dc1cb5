"""The losses, as they are offered."""

from dmlviz.declarations import Catalogue, LossDeclaration, Parameter

LOSSES = Catalogue(
    "loss",
    [
        LossDeclaration(
            name="nt_xent",
            title="NT-Xent",
            family="structured",
            summary="Each positive pair against all negatives of its anchor, as a softmax over cosines.",
            formula=r"\log\Big(1+\sum_{n\in N(a)} e^{(s_{an}-s_{ap})/\tau}\Big)",
            reference="van den Oord 2018; Chen et al. 2020 (SimCLR)",
            accepts=frozenset({"pairs"}),
            on_sphere=True,
            parameters=(
                Parameter(
                    name="temperature",
                    kind=float,
                    default=0.1,
                    minimum=0.001,
                    maximum=10,
                    step=0.01,
                    help="how sharply the nearest negatives dominate",
                ),
            ),
        ),
    ],
)
