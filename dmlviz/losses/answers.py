"""What losses answer, in drawings and of a recorded batch, as types. Importing this loads no torch."""

from dataclasses import dataclass, field

from typing_extensions import TypedDict


@dataclass(frozen=True)
class CurveAxis:
    """The moving quantity in the plot of a loss: a value is written divided by `unit`, followed by `suffix`."""

    title: str
    low: float
    high: float
    unit: float = 1.0
    suffix: str = ""


@dataclass(frozen=True)
class CurveControl:
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


class Arc(TypedDict):
    """An arc on which the class in a row of the class weights wins, in radians."""

    row: int
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class BatchTerms:
    """The terms of a batch, with the numbers that stand in their formulas.

    Attributes:
        terms: For each comparison of `classify_tuples`, in that order, the terms that it takes part in: the value, 1
            for a pair of two classes or 0, and the numbers of `symbols`. Empty where the loss has no term for it.
        symbols: Symbols of each term's numbers, in LaTeX.
        constants: Numbers that are the same in every term, by symbol.
        formula, negative_formula, note: See `LossSpec.term`, `negative_term` and `term_note`.
        count: Terms of which the loss is the mean, as in "96 triplets"; empty if it is no such mean, or if some are
            unknown.
        tree: Tree of the batch's classes, for a loss whose margins follow from one.
        arcs: Arcs of the circle on which each class wins, for a loss with angle margins in two dimensions.
        reason: Reason why there are no terms, in a sentence; empty where there are some.
    """

    terms: list[list[list[float]]]
    symbols: list[str] = field(default_factory=list)
    constants: dict[str, float] = field(default_factory=dict)
    formula: str = ""
    negative_formula: str = ""
    note: str = ""
    count: str = ""
    arcs: list[Arc] = field(default_factory=list)
    tree: list[TreeNode] = field(default_factory=list)
    reason: str = ""
