"""What server and page say to each other, as types: props of the components, events of a run, answers of routes.

scripts/generate_protocol.py writes the same as TypeScript, and a test holds the two equal. Names that cross are named
here and nowhere else.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # of Python 3.11 pydantic, which checks them in the tests, takes no other

ROUTES = "dmlviz"
"""The first part of the address of every route. The page sets it behind its own base, wherever that is."""

# ---- a run's events


class FrameMeta(TypedDict):
    """Where the bytes of a frame are, and what they mean: world = center + q / 32767 · scale."""

    id: str
    n: int
    dims: int
    center: list[float]
    scale: float
    items: Literal["all", "tracked"]


Faithfulness = dict[str, float | None]


class StartedEvent(TypedDict):
    """A training has `steps`, a projection `iterations`."""

    event: Literal["started"]
    time: NotRequired[float]
    steps: NotRequired[int]
    train_images: NotRequired[int]
    test_images: NotRequired[int]
    device: NotRequired[str | None]
    threads: NotRequired[int]
    view: NotRequired[str]
    dims: NotRequired[int]
    tracked: NotRequired[int]
    unseen: NotRequired[list[str]]
    method: NotRequired[str]
    iterations: NotRequired[int | None]
    iteration: NotRequired[int]


class StepEvent(TypedDict):
    """One batch, or the mean of several."""

    event: Literal["step"]
    time: NotRequired[float]
    step: int
    loss: float
    active: float
    positive_distance: NotRequired[float]
    negative_distance: NotRequired[float]
    images_per_second: NotRequired[float]
    cpu_seconds: NotRequired[float]


class BatchEvent(TypedDict):
    """A batch was recorded."""

    event: Literal["batch"]
    time: NotRequired[float]
    step: int
    images: int
    loss: float
    active: float


class SnapshotEvent(TypedDict):
    """The tracked images were embedded."""

    event: Literal["snapshot"]
    time: NotRequired[float]
    step: int
    frame: FrameMeta
    metrics: NotRequired[dict[str, float]]
    centers: NotRequired[list[list[float]]]


class LayoutEvent(TypedDict):
    """A layout on its way."""

    event: Literal["frame"]
    time: NotRequired[float]
    iteration: int
    of: NotRequired[int | None]
    error: NotRequired[float | None]
    frame: FrameMeta


class PhaseEvent(TypedDict):
    """A library at work, which shows no positions."""

    event: Literal["phase"]
    time: NotRequired[float]
    words: str
    iteration: int
    of: int


class AlarmEvent(TypedDict):
    """Something goes wrong from this step on."""

    event: Literal["alarm"]
    time: NotRequired[float]
    step: int
    alarm: str
    sentence: str
    remedies: list[str]


class AlarmOverEvent(TypedDict):
    """It no longer does."""

    event: Literal["alarm_over"]
    time: NotRequired[float]
    step: int
    alarm: str


class ReplayFrame(TypedDict):
    """A step drawn again; the frame's fields lie beside the others, or, in a projection of all epochs, in `frame`."""

    step: int
    frame: NotRequired[FrameMeta]
    id: NotRequired[str]
    n: NotRequired[int]
    dims: NotRequired[int]
    center: NotRequired[list[float]]
    scale: NotRequired[float]
    items: NotRequired[Literal["all", "tracked"]]
    explained: NotRequired[list[float] | None]
    faithfulness: NotRequired[Faithfulness | None]
    centers: NotRequired[list[list[float]]]


class ReplayEvent(TypedDict):
    """All steps on one basis."""

    event: Literal["replay"]
    time: NotRequired[float]
    view: str
    basis: NotRequired[str]
    epochs: NotRequired[int]
    explained: NotRequired[list[float] | None]
    faithfulness: NotRequired[Faithfulness | None]
    frames: list[ReplayFrame]


class PreparingEvent(TypedDict):
    """A data set is downloaded."""

    event: Literal["preparing"]
    time: NotRequired[float]
    dataset: str
    done: int
    total: int


class EndedEvent(TypedDict):
    """How a training or a projection came to its end."""

    event: Literal["finished", "stopped", "failed"]
    time: NotRequired[float]
    step: NotRequired[int]
    metrics: NotRequired[dict[str, float]]
    test_images: NotRequired[int]
    usual_distance: NotRequired[float | None]
    seconds: NotRequired[float | None]
    cpu_seconds: NotRequired[float | None]
    reason: NotRequired[str]
    frame: NotRequired[FrameMeta | None]
    iteration: NotRequired[int | None]
    explained: NotRequired[list[float] | None]
    error: NotRequired[float | None]
    faithfulness: NotRequired[Faithfulness | None]


class QueueEvent(TypedDict):
    """Where a run waits; not kept."""

    event: Literal["queue"]
    phase: NotRequired[str]
    position: int | None
    of: int | None


class EndEvent(TypedDict):
    """The stream is over."""

    event: Literal["end"]
    state: NotRequired[str]


RunEvent = (
    StartedEvent
    | StepEvent
    | BatchEvent
    | SnapshotEvent
    | LayoutEvent
    | PhaseEvent
    | AlarmEvent
    | AlarmOverEvent
    | ReplayEvent
    | PreparingEvent
    | EndedEvent
    | QueueEvent
    | EndEvent
)


# ---- props of the components


class SpriteSheets(TypedDict):
    """Sheets of tiles, and the pixels of a tile's side; tiles in a row and on a sheet where that is not as usual."""

    urls: list[str]
    tile: int
    columns: NotRequired[int]
    per_sheet: NotRequired[int]


class Source(TypedDict):
    """Which run, drawn how, begun when, and where its events are (nowhere in an exported page)."""

    run: str
    view: str
    begun: str | None
    events_url: str | None


class Space(TypedDict):
    """A learned space that is drawn as it is."""

    kind: Literal["circle", "plane", "sphere", "space"]
    centers: Literal["points", "directions"]
    margins: tuple[float, float, float] | None


class PictureInfo(TypedDict):
    """What kind of picture the map is."""

    method: str
    taught: NotRequired[str]
    title: NotRequired[str]
    caution: NotRequired[str]
    axes: NotRequired[list[int]]
    space: NotRequired[Space]


class MapQuery(TypedDict):
    """A person's own picture: where it lies at the end and on the way (step, then coordinates), and its neighbors."""

    xy: NotRequired[list[float]]
    way: NotRequired[list[tuple[float, ...]]]
    frames: NotRequired[dict[str, list[float]]]
    neighbors: list[int]


class SelectionBits(TypedDict):
    """A selection: bit i of byte i >> 3 (little-endian bits) says whether item i is in it, base64 around it."""

    bits: str


class MapProps(Source):
    """The map; items are numbered in the official order of the test images."""

    classes: list[str]
    n: int
    sprites: SpriteSheets
    labels: NotRequired[list[int]]
    labels_url: NotRequired[str]
    kept: NotRequired[list[Literal["tracked", "nearest", "values"]]]
    tracked: NotRequired[list[int] | None]
    values: NotRequired[dict[str, str]]
    query: NotRequired[MapQuery]
    step: NotRequired[int | None]
    selected: NotRequired[SelectionBits]
    running: NotRequired[bool]
    autoplay: NotRequired[bool]
    picture: NotRequired[PictureInfo]
    distance: NotRequired[float]
    color: NotRequired[str]
    pinned: int | None
    neighbors: list[int]
    link: NotRequired[str | None]
    height: NotRequired[int | Literal["fill"]]


class Remedy(TypedDict):
    """Which remedy of which alarm a person chose."""

    alarm: str
    index: int


class Ink(TypedDict):
    """A small picture: base64 of one byte a pixel, or three."""

    ink: str
    width: int
    height: int


class Subject(TypedDict):
    """A test image (item, label), or a picture of one's own (its ink)."""

    item: NotRequired[int]
    label: NotRequired[int | None]
    ink: NotRequired[str]
    width: NotRequired[int]
    height: NotRequired[int]


class CaptionedInk(Ink):
    """One of the steps in which a picture was prepared."""

    caption: str


class NeighborHistory(TypedDict):
    """The nearest neighbors of an image at every snapshot: for each step [item, distance], nearest first."""

    item: int | None
    label: int
    among: int
    nets: NotRequired[int | bool | None]
    steps: list[int]
    near: list[list[tuple[int, float]]]
    labels: dict[str, int]


class Vote(TypedDict):
    """Which class most neighbors say."""

    label: int


class InspectorProps(TypedDict, total=False):
    """The image in question with its nearest, or the words that stand where there is none."""

    placeholder: str
    run: str
    classes: dict[str, str]
    sprites: SpriteSheets
    subject: Subject
    near: list[tuple[int, int, float]]
    metric: str
    history: bool | NeighborHistory | None
    among: int | None
    vote: Vote
    title: str
    steps: list[CaptionedInk]
    far: str | None
    way: int
    below: str
    sheet: bool


class ProgressProps(Source):
    """How a run or a projection stands, as far as the server knew."""

    title: str
    phase: str
    position: int | None
    of: int | None
    reason: str
    running: bool
    drawing: bool
    pausable: bool
    waits_for_pictures: bool


class DetailProps(Source):
    """What the closer look needs of the test images."""

    classes: list[str]
    n: int
    sprites: SpriteSheets
    labels: NotRequired[list[int]]
    labels_url: NotRequired[str]


class PadProps(TypedDict):
    """The drawing pad."""

    hint: str


class Drawing(TypedDict):
    """What was drawn: side × side bytes of ink, base64."""

    side: int
    strokes: int
    ink: str


class PastedPicture(TypedDict):
    """What was pasted, base64 of a JPEG; `count` tells the same picture twice from once."""

    count: int
    jpeg: str


class PasteProps(TypedDict):
    """Nothing."""


class RunCardProps(TypedDict):
    """What a card says of a run."""

    run: str
    title: str
    ours: bool
    tags: list[str]
    pinned: bool
    badges: list[str]
    scores: dict[str, float]
    tested: int | None
    state: str
    damage: NotRequired[str | None]
    readable: NotRequired[bool]
    created: str | None
    bytes: int
    export: str | None
    portrait: str | None


class DiskUse(TypedDict):
    """Bytes used, bytes allowed, titles of the runs that made room."""

    used: int
    limit: int
    gone: list[str]


class DeletedRun(TypedDict):
    """What can be restored."""

    run: str
    title: str


RunListProps = TypedDict(
    "RunListProps",
    {
        "cards": list[RunCardProps],
        "sort": str,
        "search": str,
        "disk": DiskUse,
        "deleted": DeletedRun | None,
        "note": str | None,
        "import": str | None,
        "explore": dict[str, str],
        "compare": dict[str, str],
    },
)


class RunListOrder(TypedDict):
    """How the runs are searched and sorted."""

    sort: str
    search: str


class RunAction(TypedDict):
    """What a person does to a run."""

    what: str
    run: str | None
    value: str | bool | list[str] | None


class ComparedSide(Source):
    """One of two runs."""

    title: str
    steps: int


class AgreementCell(TypedDict):
    """How many test images, and which."""

    count: int
    bits: str


Agreement = dict[str, AgreementCell]


class CompareProps(TypedDict):
    """Two runs side by side."""

    sides: list[ComparedSide]
    complete: bool
    cells: NotRequired[Agreement]
    cells_url: NotRequired[str]


class Script(TypedDict):
    """A script that gives the run again."""

    title: str
    text: str


class ExportFile(TypedDict):
    """A file to download."""

    title: str
    summary: str
    url: str
    name: str


class ExportProps(TypedDict):
    """What can be kept of a run."""

    scripts: list[Script]
    files: list[ExportFile]
    note: str
    loading: NotRequired[str]


class ImportedClass(TypedDict):
    """A class that was found, with its counts."""

    name: str
    train: NotRequired[int]
    test: int


class LeftOut(TypedDict):
    """Why files were left out, how many, and the first of their names."""

    reason: str
    count: int
    names: list[str]


class ImportedTiles(TypedDict):
    """The first pictures of each class on one sheet."""

    url: str
    columns: int
    counts: list[int]


class ImportPreviewProps(TypedDict):
    """What was understood of somebody's files."""

    summary: str
    notes: list[str]
    warnings: list[str]
    left_out: list[LeftOut]
    classes: list[ImportedClass]
    tiles: ImportedTiles | None


class LossParameter(TypedDict):
    """A parameter of a loss, as a slider needs it."""

    name: str
    kind: str
    default: Any
    help: str
    minimum: float | None
    maximum: float | None
    step: float | None
    choices: list[str]
    words: list[str]


class SceneKnob(TypedDict):
    """A number to set beside a loss's parameters."""

    name: str
    label: str
    default: float
    low: float
    high: float
    step: float


class PlotScene(TypedDict):
    """What the plot of a loss shows; see dmlviz/catalog/plot_scene.py."""

    kind: Literal["pair", "triplet", "two_pairs", "classes", "score"]
    axis: Literal["distance", "angle", "ratio", "score"]
    listed: bool
    same_side: bool
    support_first: bool
    knobs: list[SceneKnob]


class LossInfo(TypedDict):
    """A loss, as the plots need it; `compares` and `class_centers` are explained in dmlviz/catalog/parameters.py."""

    name: str
    title: str
    family: str
    on_sphere: bool
    needs_classes: bool
    compares: Literal["pairs", "triplets", "positive_pairs", "anchors", "classes"]
    class_centers: Literal["", "weights", "points", "means"]
    scene: PlotScene | None
    takes_triplets: bool
    parameters: list[LossParameter]


class LossPlotProps(TypedDict):
    """The plot of one loss."""

    loss: str
    parameters: list[LossParameter]


class ForcePlaygroundProps(TypedDict):
    """The plane of points to drag."""

    loss: str
    losses: list[LossInfo]


class SmallSpace(TypedDict):
    """A few points with their scores."""

    title: str
    points: list[list[float]]
    classes: list[int]
    scores: dict[str, float]


class MapAtRProps(TypedDict):
    """Small spaces side by side."""

    spaces: list[SmallSpace]


# ---- answers of routes


class BatchTerms(TypedDict):
    """dmlviz/runs/…/batches/STEP/terms.json: the values of the terms that each comparison takes part in."""

    terms: list[list[float]]


class CurveAxis(TypedDict):
    """What moves in the plot of a loss: a value is written divided by `unit`, followed by `suffix`."""

    title: str
    low: float
    high: float
    unit: float
    suffix: str


class CurveControl(TypedDict):
    """A slider for what stands still in the plot of a loss."""

    name: str
    label: str
    default: float
    low: float
    high: float
    step: float


class CurveMark(TypedDict):
    """A place on the axis where a loss begins or ends to act."""

    x: float
    label: str


class CurveSide(TypedDict):
    """One of the two curves, a value for each `x`; null where it is no finite number."""

    loss: list[float | None]
    slope: list[float | None]


class LossCurve(TypedDict):
    """dmlviz/losses/NAME/curve.json: a loss and its slope over one axis. See dmlviz/losses/sampling.py."""

    axis: CurveAxis
    names: list[str]
    held: list[CurveControl]
    note: str
    marks: list[CurveMark]
    low: float
    high: float
    x: list[float]
    near: CurveSide
    far: CurveSide


class LossForces(TypedDict):
    """dmlviz/losses/NAME/forces.json: the loss of a few points, and where it pushes each. `active`: a share."""

    loss: float
    active: float
    forces: list[list[float]]
    on_weights: list[list[float]]


class LossGround(TypedDict):
    """dmlviz/losses/NAME/ground.json: the loss with one point elsewhere, for each place asked about."""

    values: list[float | None]


class PairThresholds(TypedDict):
    """See dmlviz/catalog/pair_thresholds.py."""

    measure: Literal["euclidean", "sqeuclidean", "cosine"]
    margin: float
    positive_threshold: float | None
    decision_boundary: float | None
    negative_threshold: float | None
    is_hinge: bool


class Compared(TypedDict):
    """What a loss compared: base64 of rows of images (or image, class, class) and of how hard each is."""

    kind: Literal["pairs", "triplets", "classes"]
    by: str
    rows: str
    hardness: str
    counts: list[int]


class PackedArray(TypedDict):
    """Base64 of float32, row after row."""

    shape: list[int]
    data: str


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
    """dmlviz/runs/…/batches/STEP.json"""

    step: int
    loss: float
    active: float
    mean_of: str
    labels: list[int]
    images: list[int]
    classes: list[str]
    before: str
    places: str
    moved: str
    push: str
    force: str
    origin: list[float]
    view: str
    normalize: bool
    reach: PairThresholds
    seen: Compared
    selected_by: str | None
    anchored: bool
    learned: dict[str, PackedArray]
    seen_classes: list[int]
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
    reach: PairThresholds


class MethodInfo(TypedDict):
    """What may not be read from a projection."""

    title: str
    caution: str


PROPS: dict[str, type] = {
    "map": MapProps,
    "inspector": InspectorProps,
    "scores": Source,
    "loss_curve": Source,
    "progress": ProgressProps,
    "detail": DetailProps,
    "query_pad": PadProps,
    "paste": PasteProps,
    "run_list": RunListProps,
    "compare_scores": CompareProps,
    "export": ExportProps,
    "import_preview": ImportPreviewProps,
    "batch_explorer": Source,
    "loss_plot": LossPlotProps,
    "force_playground": ForcePlaygroundProps,
    "map_at_r_demo": MapAtRProps,
}
