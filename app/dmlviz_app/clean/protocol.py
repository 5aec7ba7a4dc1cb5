"""The review sheet of training data: its props, what it is answered, what it sends."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from dmlviz.cleaning.findings import Cell, ReviewRow
from dmlviz.jobs.job import JobState
from dmlviz_app.server.protocol import SpriteSheets


class Decision(TypedDict):
    """A decision about a training image."""

    action: Literal["confirm", "relabel", "exclude", "tag"]
    label: int | None
    tag: str


class ReviewAnswer(TypedDict):
    """dmlviz/runs/…/cleaning.json: the state of the search ("unknown" before the first), and its findings so far.

    `work` is the ID of the search. `decisions` are by image. The findings are as in
    `dmlviz.cleaning.findings.StoredFindings`. `values` are words about rows without a picture.
    """

    work: str
    state: JobState
    words: str
    share: float
    decisions: dict[str, Decision]
    part: NotRequired[int]
    rows: NotRequired[list[ReviewRow]]
    images: NotRequired[int]
    uncompared: NotRequired[int]
    recall: NotRequired[float]
    steps: NotRequired[list[int]]
    noun: NotRequired[str]
    notes: NotRequired[list[str]]
    cells: NotRequired[list[Cell]]
    values: NotRequired[dict[str, str]]
    sheet: NotRequired[SpriteSheets]


class ReviewSheetProps(TypedDict):
    """Props of the review sheet; the findings are at `url`.json, and what a person wants is sent below `url`.

    `items` is what is looked through: "training images" or "own vectors".
    """

    run: str
    url: str
    items: str
    classes: list[str]
    read_only: bool


class ReviewAction(TypedDict):
    """A decision about an image, or that it is taken back."""

    image: int
    action: Literal["confirm", "relabel", "exclude", "tag", "undo"]
    label: int | None
    tag: str | None


class ReviewActions(TypedDict):
    """Sent to dmlviz/runs/…/cleaning/decisions: decisions, in their order."""

    actions: list[ReviewAction]
