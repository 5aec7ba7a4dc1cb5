"""The specs of losses on the structure of a batch."""

from dmlviz.catalog.losses._shared import margin, reduction, scale
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, PairThresholds
from dmlviz.catalog.parameters import LossSpec, Parameter, texts

_PAIRS = frozenset({"pairs"})


_LIFTED_PAIR = r"J_{ij} = \log\Big(<\sum_k e^{m-d_{ik}}> + <\sum_l e^{m-d_{jl}}>\Big) + <d_{ij}>,\quad "
_NEIGHBOR = r"p = \frac{<\sum_P e^{-\sigma d^2}>}{<\sum_P e^{-\sigma d^2}> + <\sum_N e^{-\sigma d^2}>},\quad "

STRUCTURED = [
    LossSpec(
        **texts("loss", "nt_xent"),
        tuple_kinds=_PAIRS,
        on_sphere=True,
        compares="positive_pairs",
        thresholds=lambda p, w: PairThresholds("cosine", NEGLIGIBLE_LOGIT * p["temperature"], is_hinge=False),
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
    LossSpec(
        **texts("loss", "tuple_hinge"),
        tuple_kinds=_PAIRS,
        on_sphere=True,
        compares="positive_pairs",
        parameters=(
            margin(0.0, "by how much the positive should win", maximum=2),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "tuplet_margin"),
        tuple_kinds=_PAIRS,
        on_sphere=True,
        compares="positive_pairs",
        thresholds=lambda p, w: PairThresholds("cosine", NEGLIGIBLE_LOGIT / p["scale"], is_hinge=False),
        parameters=(
            Parameter(
                name="beta",
                kind=float,
                default=5.73,
                minimum=0,
                maximum=90,
                step=0.5,
                help="slack angle in degrees",
            ),
            scale(64.0, "how sharply the nearest negatives dominate: 1/temperature"),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "lifted"),
        term=lambda p: _LIFTED_PAIR + (r"\tfrac12[<J_{ij}>]_+^2" if p["squared"] else r"[<J_{ij}>]_+"),
        tuple_kinds=_PAIRS,
        recommended={"learning_rate": 2e-3},
        compares="positive_pairs",
        parameters=(
            margin(1.0, "how far negatives should be beyond the positive"),
            Parameter(name="squared", kind=bool, default=True, help="square the hinge and halve it, as in the paper"),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "lifted_hard"),
        tuple_kinds=_PAIRS,
        recommended={"learning_rate": 2e-3},
        compares="positive_pairs",
        parameters=(margin(1.0, "how far negatives should be beyond the positive"), reduction()),
    ),
    LossSpec(
        **texts("loss", "generalized_lifted"),
        tuple_kinds=_PAIRS,
        parameters=(margin(1.0, "how far negatives should be beyond the positives"), reduction()),
    ),
    LossSpec(
        **texts("loss", "n_pairs"),
        tuple_kinds=_PAIRS,
        recommended={"normalize": False},
        compares="positive_pairs",
        parameters=(
            Parameter(
                name="l2",
                kind=float,
                default=0.02,
                minimum=0,
                maximum=10,
                step=0.01,
                help="keeps embeddings short: their inner products would otherwise grow without bound",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "nca"),
        term=lambda p: _NEIGHBOR + (r"-\log <p>" if p["log"] else r"-<p>"),
        tuple_kinds=_PAIRS,
        recommended={"normalize": False},
        thresholds=lambda p, w: PairThresholds("sqeuclidean", NEGLIGIBLE_LOGIT / p["scale"], is_hinge=False),
        parameters=(
            Parameter(
                name="log", kind=bool, default=True, help="−log p instead of −p: also moves images far from their class"
            ),
            scale(1.0, "how fast the chance falls with squared distance"),
            reduction(),
        ),
    ),
    LossSpec(
        **texts("loss", "fastap"),
        tuple_kinds=_PAIRS,
        on_sphere=True,
        parameters=(
            Parameter(
                name="bins", kind=int, default=10, minimum=2, maximum=200, step=1, help="bins from distance² 0 to 4"
            ),
            reduction(),
        ),
    ),
]
