"""Props of the list of runs, and the actions of a person on it."""

from typing import NotRequired

from typing_extensions import TypedDict

from dmlviz.runs.ownership import Visibility
from dmlviz_app.server.protocol import DeletedRun


class RunSharing(TypedDict):
    """The owner and the visibility of a run, and a person's choices: none if it is not theirs."""

    group: str
    owner: str
    visibility: Visibility
    offered: list[Visibility]
    key: str


class SharedRun(TypedDict):
    """A run, and with several people whose it is."""

    run: str
    title: str
    read_only: bool
    sharing: NotRequired[RunSharing]


class RunCardProps(SharedRun):
    """The content of a run's card."""

    tags: list[str]
    pinned: bool
    badges: list[str]
    scores: dict[str, float]
    tested: int | None
    state: str
    machine: NotRequired[str]
    damage: NotRequired[str | None]
    readable: NotRequired[bool]
    created: str | None
    bytes: int
    export: str | None
    thumbnail: str | None


class DiskUse(TypedDict):
    """Bytes used, bytes allowed, the runs that made room."""

    used: int
    limit: int
    gone: list[DeletedRun]


class RunListProps(TypedDict):
    """The cards of all runs, their order, and the parameters with which Explore and Compare are opened."""

    cards: list[RunCardProps]
    sort: str
    search: str
    group: str
    disk: DiskUse
    explore: dict[str, str]
    compare: dict[str, str]


class RunListOrder(TypedDict):
    """The search, the order and the owners of the listed runs."""

    sort: str
    search: str
    group: str


class Changed(TypedDict):
    """The answer to a change: whether a run that was deleted has room, so that it can be brought back."""

    fits: bool


class RunChange(TypedDict):
    """Sent to dmlviz/runs/change: what is to be different about a run."""

    run: str
    title: NotRequired[str]
    tags: NotRequired[list[str]]
    pinned: NotRequired[bool]
    visibility: NotRequired[Visibility]
    deleted: NotRequired[bool]
