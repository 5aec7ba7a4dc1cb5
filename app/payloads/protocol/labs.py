"""What one plays with in a lab: a picture of places that look alike, a video, a metric in the plane, a threshold."""

from typing_extensions import TypedDict


class LabPictureProps(TypedDict):
    """Where the picture of a lab is; `version` changes with the results."""

    url: str
    version: str


class PlaceScores(TypedDict):
    """How alike the places of a picture are, by one method.

    Either `embeddings`, places × `dimensions` signed bytes in base64 whose dot products count, or `scores`, a byte for
    each place on the left and each place on the right, row after row, in base64.
    """

    title: str
    embeddings: str | None
    scores: str | None
    dimensions: int


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
    """Where the tracker answers, of what the videos are made, and the numbers that it begins with and may go up to."""

    url: str
    version: str
    things: str
    video: int
    videos: int
    distractors: int
    most_distractors: int
    noise: float
    most_noise: float


class Follower(TypedDict):
    """What one method finds in a video.

    `boxes` are row, column and side for each frame; `maps` the score maps, frame after frame and row after row, a byte
    each, in base64; `overlaps` those of its boxes with the true ones; `kept` the frames until the target is lost.
    """

    title: str
    boxes: list[list[float]]
    maps: str
    overlaps: list[float]
    kept: int
    milliseconds: float


class FollowedVideo(TypedDict):
    """A video of `count` frames, `side` pixels a side, as bytes in base64, and what each method finds in it.

    A place of a score map is `stride` pixels from the next. `first` is the box that was given.
    """

    frames: str
    side: int
    count: int
    stride: int
    first: list[float]
    truth: list[list[float]]
    followers: list[Follower]


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
