"""Interactive parts of labs: similar places, a video, linked maps, a metric in the plane, a threshold."""

from typing_extensions import TypedDict

from dmlviz.data.query_file import Drawing as Drawing
from dmlviz.labs.answers import EmbeddedTiles as EmbeddedTiles
from dmlviz.labs.answers import FollowedVideo as FollowedVideo
from dmlviz.labs.answers import TwoDomains as TwoDomains


class LabPictureProps(TypedDict):
    """The address of a lab's picture; `version` changes with the results.

    `ask` is where a net embeds a picture of the visitor's own, of `least` to `most` tiles in a row, `cell` pixels each;
    None where there is none.
    """

    url: str
    version: str
    ask: str | None
    least: int
    most: int
    cell: int


class PlaceScores(TypedDict):
    """The similarities of the places of a picture, by one method.

    Either `embeddings`, places × `dimensions` signed bytes in base64 whose dot products count, or `scores`, a byte for
    each place on the left and each place on the right, row after row, in base64. `net` is the address of the net's
    picture; "" for one that is not drawn.
    """

    title: str
    embeddings: str | None
    scores: str | None
    dimensions: int
    net: str


class LabPicture(TypedDict):
    """A picture with places in a square grid; `right` is what the places are looked for in, if it is another one.

    `first` is the middle of the first place, `step` the distance to the next, `cell` the side of a place, in pixels.
    `truth` is where each place lies on the right (x, y); `kinds` the class of each place by its number in `names`.
    """

    left: str
    right: str | None
    side: int
    columns: int
    first: float
    step: float
    cell: int
    most: int
    methods: list[PlaceScores]
    truth: list[list[float]] | None
    kinds: list[int] | None
    names: list[str]


class MetricPlaygroundProps(TypedDict):
    """A metric in the plane takes nothing from the server."""


class TrackerProps(TypedDict):
    """The route of the tracker, the parts of the videos, and the initial and the largest numbers."""

    url: str
    version: str
    things: str
    video: int
    videos: int
    distractors: int
    most_distractors: int
    noise: float
    most_noise: float


class LabPlanesProps(TypedDict):
    """The address of a lab's linked maps, and the pictures of their images: a sheet, `columns` tiles in a row."""

    url: str
    version: str
    sheet: str | None


class PlanePoints(TypedDict):
    """A map: its points, n × 2 floats (little-endian, 32 bits) in base64; templates where only directions count."""

    title: str
    note: str
    points: str
    centers: list[list[float]] | None


class LabPlanes(TypedDict):
    """Maps of the same images: `labels` a byte each, in base64, the number of a name; test images come first."""

    planes: list[PlanePoints]
    labels: str
    names: list[str]
    tests: int
    columns: int
    tile: int


class SketchSearchProps(TypedDict):
    """The route of a trial's net, its variant, and the drawing on the pad."""

    url: str
    version: str
    trial: str
    variant: str
    drawing: Drawing | None


class ThresholdFolds(TypedDict):
    """Accuracy of each of ten folds, and the threshold that the other nine gave."""

    accuracy: list[float]
    threshold: list[float]


class ThresholdNet(TypedDict):
    """Distances of pairs by one net: shares of each kind in bins, and those of the pairs that are shown."""

    title: str
    edges: list[float]
    same: list[float]
    different: list[float]
    threshold: float
    folds: ThresholdFolds
    distances: list[float]


class ThresholdPair(TypedDict):
    """Two pictures as data URLs, whether they show one identity, and the distance of their pixels where it is known."""

    images: list[str]
    same: bool
    pixels: float | None


class ThresholdProps(TypedDict):
    """A threshold on the distance: the nets, the pairs that are shown, the visitor's own rates of errors and hits.

    `best` is the title of the net to begin with; `you` is a false positive rate and a recall.
    """

    best: str
    nets: list[ThresholdNet]
    pairs: list[ThresholdPair]
    you: list[float] | None
