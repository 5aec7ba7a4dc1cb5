"""Props of the list of runs, and the actions of a person on it."""

from typing import NotRequired

from typing_extensions import TypedDict


class RunSharing(TypedDict):
    """The owner and the visibility of a run, and a person's choices: none if it is not theirs."""

    group: str
    owner: str
    visibility: str
    offered: list[str]
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


class DeletedRun(TypedDict):
    """A run that can be restored."""

    run: str
    title: str


class DiskUse(TypedDict):
    """Bytes used, bytes allowed, the runs that made room and can be restored."""

    used: int
    limit: int
    gone: list[DeletedRun]


RunListProps = TypedDict(
    "RunListProps",
    {
        "cards": list[RunCardProps],
        "sort": str,
        "search": str,
        "group": str,
        "disk": DiskUse,
        "deleted": DeletedRun | None,
        "note": str | None,
        "import": str | None,
        "explore": dict[str, str],
        "compare": dict[str, str],
    },
)


class RunListOrder(TypedDict):
    """The search, the order and the owners of the listed runs."""

    sort: str
    search: str
    group: str


class RunAction(TypedDict):
    """An action of a person on a run."""

    what: str
    run: str | None
    value: str | bool | list[str] | None
