"""How a piece of work in the background stands."""

from typing_extensions import TypedDict


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
