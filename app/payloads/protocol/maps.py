"""Props of the map and of the closer look, and what a projection is called."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from app.payloads.protocol.common import Source, SpriteSheets


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
    trajectory: NotRequired[list[tuple[float, ...]]]
    frames: NotRequired[dict[str, list[float]]]
    neighbors: list[int]


class SelectionBits(TypedDict):
    """A selection: bit i of byte i >> 3 (little-endian bits) says whether item i is in it, base64 around it."""

    bits: str


class MapDisplay(TypedDict):
    """How the map shows its items, where that is not as on a new map; `hidden` are numbers of classes or categories."""

    names: NotRequired[bool]
    trails: NotRequired[bool]
    contours: NotRequired[bool]
    pictures: NotRequired[bool]
    images: NotRequired[Literal["test", "both", "train"]]
    markers: NotRequired[str]
    hidden: NotRequired[list[int]]


class MapProps(Source):
    """The map; items are numbered in the official order of the test images. `noun` says what an item is, if no such.

    With `display` Python keeps what the person sets on the map, and what is isolated; without, the map does.
    """

    classes: list[str]
    n: int
    noun: NotRequired[str]
    sprites: SpriteSheets
    labels: NotRequired[list[int]]
    labels_url: NotRequired[str]
    kept: NotRequired[list[Literal["tracked", "items", "nearest", "values", "columns"]]]
    tracked: NotRequired[list[int] | None]
    values: NotRequired[dict[str, str]]
    query: NotRequired[MapQuery]
    step: NotRequired[int | None]
    selected: NotRequired[SelectionBits]
    isolated: NotRequired[SelectionBits]
    display: NotRequired[MapDisplay]
    subset: NotRequired[SelectionBits]
    projects: NotRequired[bool]
    running: NotRequired[bool]
    autoplay: NotRequired[bool]
    picture: NotRequired[PictureInfo]
    distance: NotRequired[float]
    color: NotRequired[str]
    pinned: int | None
    neighbors: list[int]
    link: NotRequired[str | None]
    links_views: NotRequired[bool]
    height: NotRequired[int | Literal["fill"]]


class TrainPoints(TypedDict):
    """Images that a run has trained on: labels, steps, and their positions at each step (steps × n × dims)."""

    labels: list[int]
    steps: list[int]
    places: list[list[list[float]]]


class DetailProps(Source):
    """What the closer look needs of the test images."""

    classes: list[str]
    n: int
    sprites: SpriteSheets
    labels: NotRequired[list[int]]
    labels_url: NotRequired[str]


class MethodInfo(TypedDict):
    """What may not be read from a projection."""

    title: str
    caution: str
