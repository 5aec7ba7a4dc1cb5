"""Props of the inspector, and the neighbors that it shows."""

from typing import NotRequired

from typing_extensions import TypedDict

from dmlviz.runs.answers import Logits as Logits
from dmlviz_app.protocol.common import Ink, Nouns, SpriteSheets


class Subject(TypedDict):
    """A test image (item, label); empty for a picture of one's own, which the last of its steps shows."""

    item: NotRequired[int]
    label: NotRequired[int | None]


class CaptionedInk(Ink):
    """One of the steps in which a picture was prepared."""

    caption: str


class ItemNeighbors(TypedDict):
    """dmlviz/runs/RUN/neighbors/ITEM.json: a test image, its nearest as [item, class, distance], and names of classes.

    `step` is that of the snapshot whose tracked images were searched, where the run has no embeddings of its end.
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
    """The nearest neighbors at every snapshot: for each step [item, distance], nearest first, and their classes."""

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


class ImagePair(TypedDict):
    """dmlviz/runs/RUN/pair/A/B.json: two images, with their classes; the thresholds rest on `pairs` pairs."""

    same: bool
    classes: tuple[str, str]
    pairs: int
    spaces: list[PairSpace]


class QuerySource(TypedDict):
    """The route of a query, the map that is shown, names and titles of samples.

    `view` is empty until the map is finished. `refused` says why there are no queries, `undrawn` why no drawings.
    """

    url: str
    run: str
    view: str
    sprites: SpriteSheets
    samples: dict[str, str]
    refused: NotRequired[str]
    undrawn: NotRequired[str]


class InspectorProps(Nouns, total=False):
    """The fields of a run that the inspector needs; it fetches the neighbors of a pinned image by itself.

    Where nothing is pinned, an image with its neighbors stands (`example`), or else the words of `placeholder`, unless
    an exported page gives the answer to a query: `subject` with
    its `near`. With `metrics` a person chooses the distance. `columns` says whether a table knows more of the items.
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
