"""Props of the workbench with its maps and inspectors, of progress, and of the drawing pad."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from dmlviz.catalog.projections import LayoutSetting
from dmlviz.config.learned_space import Space
from dmlviz_app.answers.protocol import Agreement, CaptionedInk, ImageProps, NeighborHistory, Vote
from dmlviz_app.server.protocol import Nouns, Source, SpriteSheets
from dmlviz_app.widgets.protocol import ViewCommand

Kept = Literal["tracked", "items", "nearest", "columns"]


class PictureInfo(TypedDict):
    """The kind of picture that the map is; `note` is what this one must say of itself, before its method's caution."""

    method: str
    note: NotRequired[str]
    title: NotRequired[str]
    caution: NotRequired[str]
    axes: NotRequired[list[int]]
    space: NotRequired[Space]
    whole: NotRequired[int]  # all dimensions, where it is drawn from the first ones alone


class SelectionBits(TypedDict):
    """A selection: bit i of byte i >> 3 (little-endian bits) says whether item i is in it, base64 around it."""

    bits: str


class Link(TypedDict):
    """The name of the maps that move together, and whether their views do."""

    link: NotRequired[str | None]
    links_views: NotRequired[bool]


class SmallMap(TypedDict):
    """What stands on a map among more than two: a title in the color of this number; None for the untrained net."""

    title: str
    nth: int | None


class MapProps(Source, ImageProps, Link, Nouns):
    """The map; items are numbered in the official order of the test images.

    What a person looks at is in the browser's store. With another number of `replays` it plays from its beginning.
    `awaits` is the view by which the page replaces this one by itself; `queued` its title while it waits for a worker.
    A projection that `follows` has a layout for each snapshot of the training. Its layout moves while a person drags
    its `settings`; `still` says why it does not. `turn` is the 2 × 2 matrix, row by row, by which its places are turned
    or mirrored onto the map beside it. `notices` are sentences that stand on the map; `gone` says that its run is not
    there any more.
    """

    title: NotRequired[str]
    kept: NotRequired[list[Kept]]
    tracked: NotRequired[list[int] | None]
    measures: NotRequired[list[str]]
    subset: NotRequired[SelectionBits]
    projects: NotRequired[bool]
    awaits: NotRequired[str]
    queued: NotRequired[str]
    follows: NotRequired[bool]
    settings: NotRequired[list[LayoutSetting]]
    still: NotRequired[str]
    gone: NotRequired[bool]
    running: NotRequired[bool]
    autoplay: NotRequired[bool]
    replays: NotRequired[int]
    picture: NotRequired[PictureInfo]
    height: NotRequired[int | Literal["fill"]]
    turn: NotRequired[list[float]]
    notices: NotRequired[list[str]]
    small_map: NotRequired[SmallMap]


class ViewProps(TypedDict):
    """The run that a page shows (all runs on Compare), and its test images.

    With `follows` the browser sends a snapshot of what is looked at where it differs from `known`; both are parameters
    of an address.
    """

    page: str
    run: str
    dataset: str
    n: int
    follows: bool
    known: dict[str, str]
    command: ViewCommand | None


class DetailProps(Source, ImageProps, Nouns):
    """The detail view's data about the test images."""


class Subject(TypedDict):
    """A test image (item, label); empty for a picture of one's own, which the last of its steps shows."""

    item: NotRequired[int]
    label: NotRequired[int | None]


class MapSource(TypedDict):
    """The map of a run that is shown; `view` is empty until it is finished. A run that is `live` trains."""

    run: str
    view: str
    live: bool


class QuerySource(MapSource):
    """The route of a query, the map that is shown, names and titles of samples.

    `undrawn` says why there are no drawings. What is asked of a run that trains is asked again at each snapshot.
    `names` are those of its classes, under which pictures may be kept, too. `point`: a drawing is one point of the
    plane.
    """

    url: str
    sprites: SpriteSheets
    samples: dict[str, str]
    names: list[str]
    undrawn: NotRequired[str]
    point: NotRequired[bool]


class InspectorProps(Nouns, total=False):
    """The fields of a run that the inspector needs; it fetches the neighbors of a pinned image by itself.

    Where nothing is pinned, an image with its neighbors stands (`example`), or else the words of `placeholder`, unless
    an exported page gives the answer to a query: `subject` with its `near`. With `metrics` a person chooses the
    distance, hyperbolic where the space is `curved`. `columns` says whether a table knows more of the items.
    `far` is why an answer is not sure, `basis` on which images that rests.
    """

    placeholder: str
    example: bool
    run: str
    classes: dict[str, str]
    sprites: SpriteSheets
    subject: Subject
    near: list[tuple[int, int, float]]
    metrics: bool
    curved: bool
    history: bool | NeighborHistory | None
    among: int | None
    vote: Vote
    title: str
    steps: list[CaptionedInk]
    far: str | None
    basis: str
    trajectory_length: int
    logits: list[str]
    sheet: bool
    comparable: bool
    columns: bool
    query: QuerySource
    map: MapSource


class QueryPadProps(TypedDict):
    """The drawing pad; `point` where a drawing is one point of the plane."""

    hint: str
    point: NotRequired[bool]


class ComparedSide(Source):
    """One of the compared runs."""

    title: str
    steps: int


class MapQuality(TypedDict):
    """The faithfulness of two maps: a row for each measure, with a value for each map."""

    titles: list[str]
    rows: list[tuple[str, list[float | None]]]
    note: str


class CompareProps(TypedDict):
    """Runs side by side; `sides` is empty for two maps of one run, `quality` is that of maps of different kinds.

    `status` stands where the agreement of two will: what it waits for.
    """

    sides: list[ComparedSide]
    status: str
    quality: NotRequired[MapQuality]
    cells: NotRequired[Agreement]
    cells_url: NotRequired[str]


class MapHeading(TypedDict):
    """The line above one of two maps; `missing` says which settings of the other one it could not take over."""

    title: str
    text: str
    missing: str


class WelcomeProps(TypedDict):
    """The actions of a newcomer on this page: train with the settings, draw an image for the net of the run.

    `vectors`: the points are no images.
    """

    trains: bool
    draws: bool
    vectors: bool


class WorkbenchProps(TypedDict):
    """The maps with an inspector each or for all, and below them scores and loss curve, or the comparison of some runs.

    More than two maps are small, and share one player: the chart of their scores.
    `welcome` is for Explore, outside of lessons. `scores` is the run whose scores are shown, in its own view; `note`
    stands above them.
    """

    view: ViewProps
    welcome: NotRequired[WelcomeProps]
    headings: NotRequired[list[MapHeading]]
    maps: list[MapProps]
    inspectors: list[InspectorProps]
    note: NotRequired[str]
    scores: NotRequired[Source]
    has_loss: NotRequired[bool]
    compare: NotRequired[CompareProps]


class Remedy(TypedDict):
    """The chosen remedy of an alarm."""

    alarm: str
    index: int


class WaitsFor(Source):
    """The job that must end before a waiting one begins, by its title; without a `run` where it is another person's."""

    work: str
    title: str


class ProgressProps(Source):
    """The state of a run or a projection, as last known to the server, and how many maps the session has uncovered."""

    work: str
    title: str
    uncovers: int
    phase: str
    position: int | None
    of: int | None
    reason: str
    machine: str
    lost: str
    running: bool
    projection: bool
    pausable: bool
    waits_for_pictures: bool
    replaces_map: bool
    waits_for: WaitsFor | None


class ViewPickerProps(TypedDict):
    """The titles of the maps that a run can have, by view."""

    run: str
    view: str
    views: dict[str, str]


class BaselineWaitProps(TypedDict):
    """The IDs of the work that measures the baselines which are not drawn."""

    work: list[str]


class ScriptPreloadProps(TypedDict):
    """The file name of a script of Streamlit's."""

    script: str
