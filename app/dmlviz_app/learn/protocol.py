"""Props of the plots and playgrounds on Learn. The answers of the worker are in dmlviz/losses/answers.py."""

from typing import Any

from typing_extensions import TypedDict

from dmlviz.lessons.figure_specs import Drawn as Drawn
from dmlviz.lessons.steps import CodeSteps as CodeSteps
from dmlviz.losses.answers import CurveControl as CurveControl
from dmlviz.losses.answers import LossCurve as LossCurve
from dmlviz.losses.answers import LossForces as LossForces
from dmlviz.losses.answers import LossGround as LossGround


class LossParameter(TypedDict):
    """A parameter of a loss, as a slider needs it."""

    name: str
    kind: str
    default: Any
    help: str
    minimum: float | None
    maximum: float | None
    step: float | None
    choices: list[str]
    words: list[str]


class LossInfo(TypedDict):
    """A loss, as the plots need it."""

    name: str
    title: str
    family: str
    on_sphere: bool
    needs_classes: bool
    parameters: list[LossParameter]


class LossPlotProps(TypedDict):
    """The plot of one loss."""

    loss: str
    parameters: list[LossParameter]


class ForcePlaygroundProps(TypedDict):
    """The plane of points to drag."""

    loss: str
    losses: list[LossInfo]


class SmallSpace(TypedDict):
    """A few points with their scores."""

    title: str
    points: list[list[float]]
    classes: list[int]
    scores: dict[str, float]


class RankingToyProps(TypedDict):
    """Ten results to turn over: the metric whose page it is on, and the titles of all."""

    metric: str
    titles: dict[str, str]


class CodeTabProps(TypedDict):
    """Code of an entry to read and to copy, which begins at line `start`.

    `use` are the lines that do the same with dmlviz, `loop` is a whole training, `source` is where its own code is,
    and `steps` what the lines make with eight images, of `run`: by an address for each, empty where there is none.
    """

    code: str
    start: int
    about: str
    use: str
    loop: str
    source: str
    source_url: str
    steps_url: str
    run: str


class SmallFigure(TypedDict):
    """A figure to move: what to see, what the axes are (empty in a plane), and its sliders."""

    name: str
    title: str
    see: str
    x: str
    y: str
    sliders: list[CurveControl]


class SmallFiguresProps(TypedDict):
    """Figures, one below the other, or beside it."""

    figures: list[SmallFigure]


class MapAtRDemoProps(TypedDict):
    """Small spaces side by side."""

    spaces: list[SmallSpace]


class SpaceScores(TypedDict):
    """dmlviz/scores.json: the scores of a few points, by the metric's name; null where one is not defined."""

    scores: dict[str, float | None]


class CloudChoice(TypedDict):
    """Points to choose, and where they are."""

    title: str
    url: str


class LayoutPlaygroundProps(TypedDict):
    """A projection to play with: its parameters, and points beside those that the page makes."""

    method: str
    parameters: list[LossParameter]
    clouds: list[CloudChoice]


class PointCloud(TypedDict):
    """dmlviz/clouds/DATASET.json and dmlviz/runs/RUN/cloud.json: points (n × d), their classes, and all classes."""

    rows: list[list[float]]
    labels: list[int]
    classes: list[str]
