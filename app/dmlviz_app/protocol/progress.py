"""Props of the progress panel, and the remedy that a person chooses there."""

from typing_extensions import TypedDict

from dmlviz_app.protocol.common import Source


class Remedy(TypedDict):
    """The chosen remedy of an alarm."""

    alarm: str
    index: int


class WaitsFor(Source):
    """The job that must end before a waiting one begins, by its title; without a `run` where it is another person's."""

    title: str


class ProgressProps(Source):
    """The state of a run or a projection, as last known to the server, and the number of trainings of the session."""

    title: str
    trainings: int
    phase: str
    position: int | None
    of: int | None
    reason: str
    machine: str
    lost: str
    running: bool
    projection: bool
    pausable: bool
    waits_for_pictures: bool
    replaces_map: bool
    waits_for: WaitsFor | None


class BaselineWaitProps(TypedDict):
    """The IDs of the work that measures the baselines which are not drawn."""

    work: list[str]


class ScriptPreloadProps(TypedDict):
    """The file name of a script of Streamlit's."""

    script: str
