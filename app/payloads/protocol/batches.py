"""The answers about recorded batches and about distances between test images."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from app.payloads.protocol.common import SpriteSheets


class ClassArc(TypedDict):
    """Where on the circle a class (a row of the class weights) wins, in radians."""

    row: int
    start: float
    end: float


class BatchTerms(TypedDict):
    """dmlviz/runs/…/batches/STEP/terms.json: see dmlviz/training/batch_terms.py."""

    terms: list[list[list[float]]]
    symbols: list[str]
    constants: dict[str, float]
    formula: str
    negative_formula: str
    note: str
    count: str
    arcs: list[ClassArc]
    reason: str


class PairThresholds(TypedDict):
    """See dmlviz/catalog/pair_thresholds.py."""

    measure: Literal["euclidean", "sqeuclidean", "cosine"]
    margin: float
    positive_threshold: float | None
    decision_boundary: float | None
    negative_threshold: float | None
    is_hinge: bool


class ComparedTuples(TypedDict):
    """What a loss compared: base64 of rows of images (or image, class, class) and of how hard each is."""

    kind: Literal["pairs", "triplets", "classes"]
    by: str
    rows: str
    hardness: str
    counts: list[int]


class ClassCenters(TypedDict):
    """What stands for each class, and where."""

    labels: list[int]
    places: str
    meaning: Literal["mean", "center", "weight"]


class LossOfBatch(TypedDict):
    """The loss that saw the batch."""

    name: str
    title: str
    formula: str
    summary: str
    params: dict[str, Any]


class BatchAnswer(TypedDict):
    """dmlviz/runs/…/batches/STEP.json: a batch, as its loss saw it."""

    step: int
    loss: float
    active: float
    mean_of: str
    labels: list[int]
    images: list[int]
    copy_of: list[int] | None
    behind_head: bool
    classes: list[str]
    before: str
    places: str
    moved: str
    push: str
    force: str
    origin: list[float]
    view: str
    normalize: bool
    thresholds: PairThresholds
    tuples: ComparedTuples
    selected_by: str | None
    anchored: bool
    centers: ClassCenters | None
    loss_of: LossOfBatch
    final: NotRequired[bool]
    sheet: NotRequired[SpriteSheets]


class DistancesAnswer(TypedDict):
    """dmlviz/runs/…/distances/STEP.json: histograms (base64 of uint32) of the pairs of one class and of two."""

    step: int
    measure: Literal["euclidean", "sqeuclidean", "cosine"]
    high: float
    same: str
    different: str
    images: int
    tracked: int
    thresholds: PairThresholds
