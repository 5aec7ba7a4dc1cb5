"""The review sheet of training data."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from app.payloads.protocol.common import SpriteSheets


class ReviewRow(TypedDict):
    """A training image that a person should look at; `other` is a test image where the kind is "leak"."""

    kind: Literal["suspect", "duplicate", "leak", "outlier"]
    image: int
    label: int
    score: float
    reason: str
    suggestion: int | None
    other: int | None
    other_label: int | None
    tile: int
    other_tile: int | None


class ReviewAnswer(TypedDict):
    """dmlviz/runs/…/cleaning.json: the rows, or that they are being looked for.

    Of `images` training images, the labels of `uncompared` were not compared: their classes are too small.
    """

    state: Literal["working", "found"]
    rows: NotRequired[list[ReviewRow]]
    images: NotRequired[int]
    uncompared: NotRequired[int]
    steps: NotRequired[list[int]]
    sheet: NotRequired[SpriteSheets]


class Decision(TypedDict):
    """What was decided about a training image."""

    action: Literal["confirm", "relabel", "exclude", "tag"]
    label: int | None
    tag: str


class ReviewProps(TypedDict):
    """Of the component `review_sheet`; `decisions` are by image, `received` is the number of the last action."""

    run: str
    url: str
    classes: list[str]
    decisions: dict[str, Decision]
    received: int
    read_only: bool


class ReviewAction(TypedDict):
    """A decision about an image, or that it is taken back."""

    image: int
    action: Literal["confirm", "relabel", "exclude", "tag", "undo"]
    label: int | None
    tag: str | None


class NumberedAction(TypedDict):
    """The review sheet sends all that the server has not confirmed: an event may replace one that was not read."""

    number: int
    action: ReviewAction
