"""Queries with a person's own picture, and their answers; props and values of the drawing pad."""

from typing import NotRequired

from typing_extensions import TypedDict

from dmlviz.data.drawing import Drawing as Drawing
from dmlviz_app.protocol.inspector import CaptionedInk, NeighborHistory, Vote


class QueryPadProps(TypedDict):
    """The drawing pad."""

    hint: str


class QueryQuestion(TypedDict, total=False):
    """POST dmlviz/runs/RUN/query in JSON: a drawing, or a sample picture by its name. Any other body is a file."""

    drawing: Drawing
    sample: str


class PictureFrame(TypedDict):
    """A rotated rectangle in a picture: center and size in shares of its width and height, degrees clockwise."""

    x: float
    y: float
    width: float
    height: float
    angle: float


class QueryPlaces(TypedDict):
    """The places of a query: on each finished map, and on the run's own at each checkpoint (step, then coordinates)."""

    views: dict[str, list[float]]
    trajectory: list[list[float]]


class QueryAnswer(TypedDict):
    """The answer of dmlviz/runs/RUN/query: neighbors, steps of the preparation, places on the maps.

    `frame` was cut out of the picture (null: the picture was taken as it is), `frames` are all that were found.
    `picture` is the decoded picture, small: base64 of a JPEG; absent for a drawing.
    """

    near: list[tuple[int, int, float]]
    classes: dict[str, str]
    vote: Vote
    title: str
    among: int
    steps: list[CaptionedInk]
    far: str | None
    basis: str
    trajectory_length: int
    history: NeighborHistory | None
    places: QueryPlaces
    frame: PictureFrame | None
    frames: list[PictureFrame]
    picture: NotRequired[str]


class QueryRefusal(TypedDict):
    """The refusal of a picture; `picture` as in `QueryAnswer` if it could be read, so that a frame may help."""

    error: str
    picture: NotRequired[str]
