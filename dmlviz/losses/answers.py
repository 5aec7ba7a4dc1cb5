"""The answers of dmlviz/losses/sampling.py, as types. Importing this loads no torch."""

from typing_extensions import TypedDict


class CurveAxis(TypedDict):
    """The moving quantity in the plot of a loss: a value is written divided by `unit`, followed by `suffix`."""

    title: str
    low: float
    high: float
    unit: float
    suffix: str


class CurveControl(TypedDict):
    """A slider for a quantity that is constant in the plot of a loss."""

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
    """dmlviz/losses/NAME/forces.json: the loss of a few points, and the force on each (minus the gradient).

    `active` is the share of active terms, 0 to 1; `on_weights` are the forces on class weights.
    """

    loss: float
    active: float
    forces: list[list[float]]
    on_weights: list[list[float]]


class LossGround(TypedDict):
    """dmlviz/losses/NAME/ground.json: the loss with one point elsewhere, for each requested place."""

    values: list[float | None]


LossAnswer = LossCurve | LossForces | LossGround


class TreeNode(TypedDict):
    """A node of a class tree: a class, or classes that are merged at a threshold.

    `label` is the class, −1 of several; `height` the threshold, of a class its spread; `children` are earlier nodes.
    """

    label: int
    height: float
    children: list[int]
