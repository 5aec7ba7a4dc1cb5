"""The losses that compete, and the ranges in which the settings of each are searched."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Dimension:
    """A setting that is searched: `learning_rate`, `loss_learning_rate`, or a parameter of the loss.

    Attributes:
        name: The setting.
        low: Lower end of its range.
        high: Upper end.
        start: Its value in the first trial: what the catalog recommends, within the range.
        log: Whether it is searched on a logarithmic scale.
        whole: Whether it is a whole number.
    """

    name: str
    low: float
    high: float
    start: float
    log: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Contestant:
    """A loss as it competes.

    Attributes:
        key: Its name in the names of trials.
        title: Its name in the tables of the paper.
        year: The year in which it was published.
        loss: Its name in the catalog.
        space: Settings that are searched, besides the learning rate.
        fixed: Fields of `TrainConfig` that are not searched.
    """

    key: str
    title: str
    year: int
    loss: str
    space: tuple[Dimension, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Everything that is searched."""
        return (LEARNING_RATE, *self.space)


LEARNING_RATE = Dimension("learning_rate", 3e-4, 3e-2, 4e-3, log=True)
WEIGHTS_RATE = Dimension("loss_learning_rate", 1e-3, 1.0, 4e-3, log=True)
_SCALE = Dimension("scale", 1, 64, 20, log=True)
_MS = (Dimension("beta", 10, 100, 50, log=True), Dimension("base", 0, 0.9, 0.5))
_TWO_MARGINS = (Dimension("margin", 0.3, 2, 1), Dimension("pos_margin", 0, 0.4, 0))  # unit vectors are 2 apart at most

CONTRASTIVE = Contestant("contrastive", "Contrastive", 2006, "contrastive_linear", _TWO_MARGINS)
TRIPLET = Contestant("triplet", "Triplet", 2009, "triplet", (Dimension("margin", 0.02, 0.6, 0.2),))
NT_XENT = Contestant("nt_xent", "NT-Xent", 2018, "nt_xent", (Dimension("temperature", 0.02, 0.5, 0.1, log=True),))
ARCFACE = Contestant("arcface", "ArcFace", 2019, "arcface", (Dimension("margin", 0, 1.5, 0.5), _SCALE, WEIGHTS_RATE))

CONTESTANTS = (
    CONTRASTIVE,
    TRIPLET,
    NT_XENT,
    Contestant("proxy_nca", "ProxyNCA", 2017, "proxy_nca", (Dimension("scale", 1, 12, 3, log=True), WEIGHTS_RATE)),
    Contestant(
        "margin",
        "Margin",
        2017,
        "margin",
        (Dimension("alpha", 0.02, 0.5, 0.2), Dimension("beta", 0.6, 1.4, 1.2), WEIGHTS_RATE),
    ),
    Contestant("n_softmax", "N. Softmax", 2017, "normalized_softmax", (_SCALE, WEIGHTS_RATE)),
    Contestant("cosface", "CosFace", 2018, "cosface", (Dimension("margin", 0, 0.5, 0.35), _SCALE, WEIGHTS_RATE)),
    ARCFACE,
    Contestant("fastap", "FastAP", 2019, "fastap", (Dimension("bins", 2, 50, 10, log=True, whole=True),)),
    Contestant(
        "snr", "SNR", 2019, "snr_contrastive", (*_TWO_MARGINS, Dimension("regularizer", 1e-4, 1, 0.1, log=True))
    ),
    Contestant(
        "ms", "MS", 2019, "multi_similarity", (Dimension("alpha", 0.05, 20, 2, log=True), *_MS), {"miner": None}
    ),
    Contestant(
        "ms_miner",
        "MS+Miner",
        2019,
        "multi_similarity",
        (Dimension("alpha", 0.5, 20, 2, log=True), *_MS, Dimension("epsilon", 0, 0.5, 0.1)),
        {"miner": "multi_similarity"},
    ),
    Contestant(
        "soft_triple",
        "SoftTriple",
        2019,
        "soft_triple",
        (
            Dimension("la", 1, 64, 20, log=True),
            Dimension("gamma", 0.02, 1, 0.1, log=True),
            Dimension("centers", 1, 5, 2, whole=True),
            WEIGHTS_RATE,
        ),
    ),
)
BY_KEY = {contestant.key: contestant for contestant in CONTESTANTS}
