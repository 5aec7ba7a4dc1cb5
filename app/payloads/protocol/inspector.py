"""Props of the inspector, and the neighbors that it shows."""

from typing import NotRequired

from typing_extensions import TypedDict

from app.payloads.protocol.common import Ink, SpriteSheets


class Subject(TypedDict):
    """A test image (item, label); empty for a picture of one's own, which the last of its steps shows."""

    item: NotRequired[int]
    label: NotRequired[int | None]


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


class Logits(TypedDict):
    """dmlviz/runs/RUN/logits/ITEM.json: see dmlviz/runs/logits.py."""

    classes: list[int]
    own: int | None
    before: list[float]
    after: list[float]
    norm: float


class PairSpace(TypedDict):
    """Two images in a space: their distance, and the threshold that gets `accuracy` of all pairs right."""

    name: str
    distance: float
    threshold: float
    says_same: bool
    accuracy: float


class ImagePair(TypedDict):
    """dmlviz/runs/RUN/pair/A/B.json: whether two images are of one class; the thresholds rest on `pairs` pairs."""

    same: bool
    pairs: int
    spaces: list[PairSpace]


class Partner(TypedDict):
    """The image with which the pinned one is compared; without a URL until another image is pinned."""

    item: int
    label: int | None
    url: NotRequired[str]


class InspectorProps(TypedDict, total=False):
    """The image in question with its nearest, or the words that stand where there is none.

    `columns` says whether a table knows more of the items, `noun` what an item is, if no test image; `values`, by item,
    what that table says of neighbors without pictures.
    """

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
    trajectory_length: int
    below: str
    logits: list[str]
    sheet: bool
    comparable: bool
    columns: bool
    noun: str
    values: dict[str, str]
    partner: Partner
