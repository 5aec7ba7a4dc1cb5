"""Props of the map and of the closer look, and what a projection is called."""

from typing import Literal, NotRequired

from typing_extensions import TypeAliasType, TypedDict

from dmlviz_app.protocol.common import Nouns, Source, SpriteSheets

SpaceKind = Literal["circle", "plane", "sphere", "space"]
Kept = Literal["tracked", "items", "nearest", "values", "columns"]


class Space(TypedDict):
    """A learned space that is drawn as it is."""

    kind: SpaceKind
    centers: Literal["points", "directions"]
    margins: tuple[float, float, float] | None


class PictureInfo(TypedDict):
    """The kind of picture that the map is; `note` is what this one must say of itself, before its method's caution."""

    method: str
    note: NotRequired[str]
    title: NotRequired[str]
    caution: NotRequired[str]
    axes: NotRequired[list[int]]
    space: NotRequired[Space]


class SelectionBits(TypedDict):
    """A selection: bit i of byte i >> 3 (little-endian bits) says whether item i is in it, base64 around it."""

    bits: str


class ImageProps(TypedDict):
    """The test images: names of the classes, number, pictures, labels or their address.

    `whole_names` has the names that are shortened in `classes`, by what stands there.
    """

    classes: list[str]
    whole_names: NotRequired[dict[str, str]]
    n: int
    sprites: SpriteSheets
    labels: NotRequired[list[int]]
    labels_url: NotRequired[str]


class Link(TypedDict):
    """The name of the maps that move together, and whether their views do."""

    link: NotRequired[str | None]
    links_views: NotRequired[bool]


class MapProps(Source, ImageProps, Link, Nouns):
    """The map; items are numbered in the official order of the test images.

    What a person looks at is in the browser's store. With another number of `replays` it plays from its beginning.
    `awaits` is the view by which the page replaces this one by itself.
    """

    title: NotRequired[str]
    kept: NotRequired[list[Kept]]
    tracked: NotRequired[list[int] | None]
    values: NotRequired[dict[str, str]]
    subset: NotRequired[SelectionBits]
    projects: NotRequired[bool]
    awaits: NotRequired[str]
    running: NotRequired[bool]
    autoplay: NotRequired[bool]
    replays: NotRequired[int]
    picture: NotRequired[PictureInfo]
    height: NotRequired[int | Literal["fill"]]


ViewKey = TypeAliasType(
    "ViewKey",
    Literal[
        "pin",
        "partner",
        "step",
        "select",
        "isolate",
        "hide",
        "color",
        "metric",
        "open",
        "show.names",
        "show.trails",
        "show.contours",
        "show.pictures",
        "show.images",
        "show.markers",
    ],
)
"""The parameters of an address that the browser writes; all others are the server's."""


class ViewCommand(TypedDict):
    """A change of what is looked at that the server asks for, as parameters of an address; done once."""

    number: int
    query: dict[str, str]


class ViewProps(TypedDict):
    """The run that a page shows (both runs on Compare), and its test images.

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


class TrainPoints(TypedDict):
    """Images that a run has trained on: labels, steps, and their positions at each step (steps × n × dims)."""

    labels: list[int]
    steps: list[int]
    places: list[list[list[float]]]


class BatchExplorerProps(Source, Nouns):
    """What the loss sees, and distances; of embeddings that were imported (`given`) only these."""


class DetailProps(Source, ImageProps, Nouns):
    """The detail view's data about the test images."""


class TrackedItems(ImageProps):
    """dmlviz/runs/RUN/tracked_items.json: the test images of a run, and which of them are tracked."""

    run: str
    dataset: str
    tracked: list[int] | None


class MethodInfo(TypedDict):
    """A caution about reading a projection."""

    title: str
    caution: str
