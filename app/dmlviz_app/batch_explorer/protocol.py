"""The answers about recorded batches and about distances between test images, and the props of the page's part."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from dmlviz.catalog.pair_thresholds import Distance, PairThresholds
from dmlviz.losses.answers import BatchTerms as BatchTerms
from dmlviz_app.server.protocol import Nouns, Source, SpriteSheets


class BatchExplorerProps(Source, Nouns):
    """What the loss sees, and distances; of embeddings that were imported (`given`) only these.

    `has_net`: the run has finished, and a threshold can be found by its net.
    """

    has_net: NotRequired[bool]


class ComparedTuples(TypedDict):
    """The comparisons of a loss: base64 of rows of images (or image, class, class) and of the difficulty of each."""

    kind: Literal["pairs", "triplets", "classes"]
    by: str
    rows: str
    hardness: str
    counts: list[int]


class ClassCenters(TypedDict):
    """The centers of the classes and their kind."""

    labels: list[int]
    places: str
    meaning: Literal["mean", "center", "weight"]


class LossOfBatch(TypedDict):
    """The loss that saw the batch."""

    name: str
    title: str
    formula: str
    summary: str
    params: dict[str, object]


class BatchAnswer(TypedDict):
    """dmlviz/runs/…/batches/STEP.json: a batch, as its loss saw it."""

    step: int
    loss: float
    active: float
    mean_of: str
    labels: list[int]
    images: list[int]
    copy_of: list[int] | None
    seen: str
    classes: list[str]
    before: str
    places: str
    moved: str
    push: str
    force: str
    origin: list[float]
    view: str
    normalize: bool
    curvature: float
    thresholds: PairThresholds
    tuples: ComparedTuples
    selected_by: str | None
    anchored: bool
    centers: ClassCenters | None
    loss_of: LossOfBatch
    final: NotRequired[bool]
    sheet: NotRequired[SpriteSheets]


class DistancesAnswer(TypedDict):
    """dmlviz/runs/…/distances/STEP.json: histograms (base64 of uint32) of the pairs of one class and of two.

    `curved`: the distances are hyperbolic.
    """

    step: int
    measure: Distance
    high: float
    same: str
    different: str
    images: int
    tracked: int
    thresholds: PairThresholds
    curved: bool


class ThresholdQuestion(TypedDict):
    """Sent to dmlviz/runs/…/threshold: the false-accept rate to find a threshold for; None for none any more."""

    rate: float | None


class ThresholdAnswer(TypedDict):
    """The threshold for a rate with its interval, in the measure of the histogram; null where it has no place there."""

    rate: float
    value: float | None
    interval: tuple[float, float] | None
    sentence: str
