"""Props of the list of runs, and the actions of a person on it."""

from typing import NotRequired

from typing_extensions import TypedDict


class RunSharing(TypedDict):
    """Whose a run is, who else sees it, and what a person may choose: nothing, where it is not theirs."""

    group: str
    owner: str
    visibility: str
    offered: list[str]
    key: str


class RunCardProps(TypedDict):
    """What a card says of a run."""

    run: str
    title: str
    read_only: bool
    sharing: NotRequired[RunSharing]
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
    portrait: str | None


class DiskUse(TypedDict):
    """Bytes used, bytes allowed, titles of the runs that made room."""

    used: int
    limit: int
    gone: list[str]


class DeletedRun(TypedDict):
    """What can be restored."""

    run: str
    title: str


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
    """How the runs are searched and sorted, and whose are shown."""

    sort: str
    search: str
    group: str


class RunAction(TypedDict):
    """What a person does to a run."""

    what: str
    run: str | None
    value: str | bool | list[str] | None
