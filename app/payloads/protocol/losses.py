"""A loss on the page Learn: props of its plots, and the answers of dmlviz/losses."""

from typing import Any

from typing_extensions import TypedDict


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


class MapAtRProps(TypedDict):
    """Small spaces side by side."""

    spaces: list[SmallSpace]


class SpaceScores(TypedDict):
    """dmlviz/scores.json: the scores of a few points, by the metric's name; null where one is not defined."""

    scores: dict[str, float | None]


class CurveAxis(TypedDict):
    """What moves in the plot of a loss: a value is written divided by `unit`, followed by `suffix`."""

    title: str
    low: float
    high: float
    unit: float
    suffix: str


class CurveControl(TypedDict):
    """A slider for what stands still in the plot of a loss."""

    name: str
    label: str
    default: float
    low: float
    high: float
    step: float


class CurveMark(TypedDict):
    """A place on the axis where a loss begins or ends to act."""

    x: float
    label: str


class CurveSide(TypedDict):
    """One of the two curves, a value for each `x`; null where it is no finite number."""

    loss: list[float | None]
    slope: list[float | None]


class LossCurve(TypedDict):
    """dmlviz/losses/NAME/curve.json: a loss and its slope over one axis. See dmlviz/losses/sampling.py."""

    axis: CurveAxis
    names: list[str]
    held: list[CurveControl]
    note: str
    marks: list[CurveMark]
    low: float
    high: float
    x: list[float]
    near: CurveSide
    far: CurveSide


class LossForces(TypedDict):
    """dmlviz/losses/NAME/forces.json: the loss of a few points, and where it pushes each. `active`: a share."""

    loss: float
    active: float
    forces: list[list[float]]
    on_weights: list[list[float]]


class LossGround(TypedDict):
    """dmlviz/losses/NAME/ground.json: the loss with one point elsewhere, for each place asked about."""

    values: list[float | None]
