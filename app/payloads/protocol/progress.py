"""Props of the progress panel, and the remedy that a person chooses there."""

from typing_extensions import TypedDict

from app.payloads.protocol.common import Source


class Remedy(TypedDict):
    """Which remedy of which alarm a person chose."""

    alarm: str
    index: int


class ProgressProps(Source):
    """How a run or a projection stands, as far as the server knew."""

    title: str
    phase: str
    position: int | None
    of: int | None
    reason: str
    machine: str
    lost: str
    running: bool
    drawing: bool
    pausable: bool
    waits_for_pictures: bool
