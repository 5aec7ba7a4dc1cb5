"""Questions of the playgrounds of labs to their nets, and the answers, as types. Importing this loads no torch."""

from typing import NotRequired, TypeAlias

from typing_extensions import TypedDict

from dmlviz.data.query_file import Drawing


class Question(TypedDict):
    """A question to the net that a trial kept in `folder`; `stamp` changes with its file.

    Attributes:
        lab: Name of the lab.
        folder: Folder of the trial.
        stamp: Time of the net's file.
        dataset: Name of the data set.
        data: The data folder.
    """

    lab: str
    folder: str
    stamp: int
    dataset: str
    data: str


class TilesQuestion(Question):
    """A square picture of `columns` tiles in a row: gray bytes in base64, row after row."""

    columns: int
    pixels: str


class VideoQuestion(Question):
    """A video by its number; `box`: row, column and side of a square in the first frame, or None for the true one."""

    video: int
    distractors: int
    noise: float
    box: NotRequired[list[float] | None]


class SketchQuestion(Question):
    """A drawing for a variant of the net; None asks for the map alone."""

    variant: str
    drawing: Drawing | None


class EmbeddedTiles(TypedDict):
    """The tiles of a visitor's own picture as embeddings, as in `PlaceScores`."""

    embeddings: str
    dimensions: int


class Follower(TypedDict):
    """The result of one method in a video.

    `boxes` are row, column and side for each frame; `maps` the score maps, frame after frame and row after row, a byte
    each, in base64; `overlaps` those of its boxes with the true ones; `frames_followed` those until the target is lost.
    """

    title: str
    boxes: list[list[float]]
    maps: str
    overlaps: list[float]
    frames_followed: int
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


class NearestPhotograph(TypedDict):
    """A photograph that a drawing finds: its class, how far it is, and its number on the map, -1 when not on it."""

    garment: int
    distance: float
    item: int


class SketchAnswer(TypedDict):
    """The results for a drawing, best first; `sheet` shows them side by side, `prepared` the net's input.

    `place` is where the drawing lies on the map.
    """

    nearest: list[NearestPhotograph]
    sheet: str
    place: list[float]
    prepared: str


class TwoDomains(TypedDict):
    """Photographs and their sketches on one map.

    `places` are those of the photographs and of the sketches; `photographs` and `sketches` show them side by side,
    `tile` pixels each; `garments` is the class of each pair by its number in `names`; `count` are all photographs, most
    of which are not on the map.
    """

    places: list[list[list[float]]]
    photographs: str
    sketches: str
    garments: list[int]
    names: list[str]
    tile: int
    count: int
    answer: SketchAnswer | None


Answer: TypeAlias = EmbeddedTiles | FollowedVideo | TwoDomains
