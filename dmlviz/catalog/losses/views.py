"""The specs of losses for several views of each image, with or without labels."""

from dmlviz.catalog.losses._shared import reduction
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, PairThresholds
from dmlviz.catalog.parameters import LossSpec, Parameter, texts

_FREE = {"normalize": False}


def _weight(name: str, default: float, text: str, maximum: float = 1000, step: float = 1.0) -> Parameter:
    return Parameter(name=name, kind=float, default=default, minimum=0, maximum=maximum, step=step, help=text)


VIEWS = [
    LossSpec(
        **texts("loss", "supcon"),
        tuple_kinds=frozenset({"pairs"}),
        on_sphere=True,
        thresholds=lambda p, w: PairThresholds("cosine", NEGLIGIBLE_LOGIT * p["temperature"], is_hinge=False),
        parameters=(
            Parameter(
                name="temperature",
                kind=float,
                default=0.1,
                minimum=0.001,
                maximum=10,
                step=0.01,
                help="how sharply the nearest images dominate",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "barlow_twins"),
        recommended=_FREE,
        compares_dimensions=True,
        parameters=(_weight("off_diagonal", 0.01, "λ: weight of the other dimensions' correlations", 10, 0.005),),
    ),
    LossSpec(
        **texts("loss", "vicreg"),
        recommended=_FREE,
        compares="pairs",
        parameters=(
            _weight("invariance", 25, "λ: weight of the distance of positives"),
            _weight("variance", 25, "μ: weight of the spread of each dimension"),
            _weight("covariance", 1, "ν: weight of the covariances of two dimensions"),
        ),
    ),
]
