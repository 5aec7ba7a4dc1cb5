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


class BaselineProgress(TypedDict):
    """dmlviz/runs/RUN/baseline-curves.json: how many baselines are measured, and whether others still are."""

    measured: int
    pending: bool


class BaselineWaitProps(TypedDict):
    """Where the answer comes from when more baselines are measured than are drawn."""

    url: str
