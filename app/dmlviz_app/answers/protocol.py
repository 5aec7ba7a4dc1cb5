"""What the routes about a run answer, and what they are asked."""

from typing import NotRequired

from pydantic import with_config
from typing_extensions import TypeAliasType, TypedDict

from dmlviz.data.query_file import Drawing as Drawing
from dmlviz.runs.answers import Logits as Logits
from dmlviz.runs.answers import NewBatchContent as NewBatchContent
from dmlviz_app.server.protocol import Ink, SpriteSheets


class ColumnInfo(TypedDict):
    """A column that the map can be colored by: of numbers from `low` to `high`, or of categories (`values`).

    The numbers of dates are days since `start`, in milliseconds since 1970 (UTC); null for other columns.
    """

    name: str
    low: float | None
    high: float | None
    values: list[str] | None
    start: float | None


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


class TrainPoints(TypedDict):
    """Images that a run has trained on: labels, steps, and their positions at each step (steps × n × dims)."""

    labels: list[int]
    steps: list[int]
    places: list[list[list[float]]]


class TrackedItems(TypedDict):
    """dmlviz/runs/RUN/tracked_items.json: which test images of a run are tracked; null before the start."""

    tracked: list[int] | None


class CaptionedInk(Ink):
    """One of the steps in which a picture was prepared."""

    caption: str


class ItemNeighbors(TypedDict):
    """dmlviz/runs/RUN/neighbors/ITEM.json: a test image, its nearest as [item, class, distance], and names of classes.

    `step` is that of the snapshot whose tracked images were searched; none at the end of the run.
    `known` is what the columns of a table say of the image, as [name, value]; `values`, by item, of neighbors without
    pictures.
    """

    item: int
    label: int
    near: list[tuple[int, int, float]]
    classes: dict[str, str]
    step: NotRequired[int]
    known: NotRequired[list[tuple[str, str]]]
    values: NotRequired[dict[str, str]]


class NeighborsOverTime(TypedDict):
    """The nearest neighbors at every snapshot: for each step [item, distance], nearest first, and their classes.

    `curved`: the distances are hyperbolic.
    """

    curved: NotRequired[bool]
    steps: list[int]
    near: list[list[tuple[int, float]]]
    labels: dict[str, int]


class NeighborHistory(NeighborsOverTime):
    """The same of an image, among so many tracked ones; `nets` says whether the saved nets embedded it."""

    item: int | None
    label: int
    among: int
    nets: NotRequired[int | bool | None]


class Vote(TypedDict):
    """The class of most neighbors."""

    label: int


class PairSpace(TypedDict):
    """Two images in a space: their distance, and the threshold that gets `accuracy` of all pairs right."""

    name: str
    distance: float
    threshold: float
    says_same: bool
    accuracy: float


class Mixture(TypedDict):
    """dmlviz/runs/RUN/mixture/VIEW.json: what the nearest test images make together, and its place on the map.

    `by_net`: the net has embedded the picture; without a net or pictures it is the mean of the embeddings that is
    placed. `values` has the mixed values of the columns where there is no picture.
    """

    picture: Ink | None
    place: list[float] | None
    by_net: bool
    values: list[tuple[str, str]]


class OcclusionMaps(TypedDict):
    """dmlviz/runs/RUN/occlusion/A/B.json, or B.json for a picture: base64 of int8 (side × side) for each.

    127 is the largest. Positive parts hold the two together: without them they are farther apart.
    """

    side: int
    maps: tuple[str, str]


class ImagePair(TypedDict):
    """dmlviz/runs/RUN/pair/A/B.json: two images, with their classes; the thresholds rest on `pairs` pairs.

    `dimensions` are shares of the squared distance of the embeddings, the largest first, of `of` dimensions; `other` is
    the nearest image of a class that the second is not of. `curved`: the embeddings have hyperbolic distances.
    """

    same: bool
    classes: tuple[str, str]
    pairs: int
    spaces: list[PairSpace]
    dimensions: list[tuple[int, float]]
    of: int
    other: int | None
    curved: bool


@with_config(strict=True, extra="forbid")
class QueryQuestion(TypedDict, total=False):
    """POST dmlviz/runs/RUN/query in JSON: a drawing, or a sample picture by its name. Any other body is a file."""

    drawing: Drawing | None
    sample: str


class PictureFrame(TypedDict):
    """A rotated rectangle in a picture: center and size in shares of its width and height, degrees clockwise."""

    x: float
    y: float
    width: float
    height: float
    angle: float


class QueryPlaces(TypedDict):
    """The places of a query: on each map, and on those with the steps of the run at some (step, then coordinates)."""

    views: dict[str, list[float]]
    ways: dict[str, list[list[float]]]


class QueryAnswer(TypedDict):
    """The answer of dmlviz/runs/RUN/query: neighbors, steps of the preparation, places on the maps.

    `frame` was cut out of the picture (null: the picture was taken as it is), `frames` are all that were found.
    `picture` is the decoded picture, small: base64 of a JPEG; absent for a drawing. While a run trains, the answer is
    by the net of `step`, and each of the `ways` has one place: the newest. `kept` are the pictures of the gallery that
    are among the nearest: ID, name, distance.
    """

    near: list[tuple[int, int, float]]
    kept: list[tuple[str, str, float]]
    classes: dict[str, str]
    vote: Vote
    title: str
    among: int
    steps: list[CaptionedInk]
    far: str | None
    basis: str
    trajectory_length: NotRequired[int]
    step: NotRequired[int]
    history: NeighborHistory | None
    places: QueryPlaces
    frame: PictureFrame | None
    frames: list[PictureFrame]
    picture: NotRequired[str]


class QueryRefusal(TypedDict):
    """The refusal of a picture; `picture` as in `QueryAnswer` if it could be read, so that a frame may help."""

    error: str
    picture: NotRequired[str]


class GalleryContent(TypedDict):
    """The kept pictures of a run that a person sees, oldest first: ID, name, whether it is theirs to remove.

    `places` has the place of each on every finished map, of the newest alone where that takes long.
    `said` are sentences on what was kept just now. `shared`: the person is in a class, which sees what they keep.
    """

    pictures: list[tuple[str, str, bool]]
    places: dict[str, list[list[float]]]
    said: list[str]
    shared: bool


class AgreementCell(TypedDict):
    """A number of test images, and their indices."""

    count: int
    bits: str


Agreement = TypeAliasType("Agreement", dict[str, AgreementCell])
