"""The review sheet of training data."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from dmlviz.cleaning.findings import ReviewRow
from dmlviz.jobs.job import JobState
from dmlviz_app.protocol.common import SpriteSheets


class ReviewAnswer(TypedDict):
    """dmlviz/runs/…/cleaning.json: the state of the search ("unknown" before the first), and its findings so far.

    The findings are as in `dmlviz.cleaning.findings.StoredFindings`.
    """

    state: JobState
    words: str
    share: float
    part: NotRequired[int]
    rows: NotRequired[list[ReviewRow]]
    images: NotRequired[int]
    uncompared: NotRequired[int]
    recall: NotRequired[float]
    steps: NotRequired[list[int]]
    sheet: NotRequired[SpriteSheets]


class Decision(TypedDict):
    """A decision about a training image."""

    action: Literal["confirm", "relabel", "exclude", "tag"]
    label: int | None
    tag: str


class ReviewProps(TypedDict):
    """Props of the review sheet; `decisions` are by image, `received` is the number of the last action."""

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
