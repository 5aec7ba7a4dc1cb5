"""What several components are given: a run to follow, sprite sheets, a small picture; and how work stands."""

from typing import NotRequired

from typing_extensions import TypedDict

ROUTES = "dmlviz"
"""The first part of the address of every route. The page sets it behind its own base, wherever that is."""


class SpriteSheets(TypedDict):
    """Sheets of tiles, and the pixels of a tile's side; tiles in a row and on a sheet where that is not as usual."""

    urls: list[str]
    tile: int
    columns: NotRequired[int]
    per_sheet: NotRequired[int]


class Source(TypedDict):
    """The run, its view, the moment it began, and the address of its events (none in an exported page)."""

    run: str
    view: str
    begun: str | None
    events_url: str | None


class Nouns(TypedDict, total=False):
    """The name of an item that is no test image; `given`: the embeddings were imported, without a training."""

    noun: str
    given: bool


class Ink(TypedDict):
    """A small picture: base64 of one byte a pixel, or three."""

    ink: str
    width: int
    height: int


class WorkStatus(TypedDict):
    """dmlviz/work/ID: a job, or an answer that is prepared.

    `kind` is that of the job, or what the answer is; `live` whether it waits or is under way; `position` counts from 1
    in a queue of `of`; `share` is what is done of it, where that is known; `reason` says why it failed or stopped.
    """

    work: str
    kind: str
    phase: str
    live: bool
    position: int | None
    of: int | None
    share: float | None
    reason: str


class DeletedRun(TypedDict):
    """A run that was deleted; one that is lost cannot be restored."""

    run: str
    title: str
    lost: NotRequired[bool]
