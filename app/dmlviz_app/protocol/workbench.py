"""Props of the workbench, which shows a run, or two side by side."""

from typing import NotRequired

from typing_extensions import TypedDict

from dmlviz_app.protocol.common import Source
from dmlviz_app.protocol.compare import CompareProps
from dmlviz_app.protocol.inspector import InspectorProps
from dmlviz_app.protocol.maps import MapProps, ViewProps


class MapHeading(TypedDict):
    """The line above one of two maps; `missing` says which settings of the other one it could not take over."""

    title: str
    text: str
    missing: str


class WelcomeProps(TypedDict):
    """The actions of a newcomer on this page: train with the settings, draw an image for the net of the run.

    `vectors`: the points are a person's own, and no net is here.
    """

    trains: bool
    draws: bool
    vectors: bool


class HelpProps(TypedDict):
    """Help, which is the same on every page."""


class WorkbenchProps(TypedDict):
    """The maps with an inspector each or for both, and below them scores and loss curve, or the comparison of two runs.

    `welcome` is for Explore, outside of lessons. `scores` is the run whose scores are shown, in its own view; `note`
    stands above them.
    """

    view: ViewProps
    welcome: NotRequired[WelcomeProps]
    headings: NotRequired[list[MapHeading]]
    maps: list[MapProps]
    inspectors: list[InspectorProps]
    note: NotRequired[str]
    scores: NotRequired[Source]
    has_loss: NotRequired[bool]
    compare: NotRequired[CompareProps]
