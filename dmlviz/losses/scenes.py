"""The few points on which Learn shows a loss: the moving quantity, the fixed ones, and the two curves.

No function asks for a loss by name. What a loss looks at is found by asking it: two images alone, images moved
together, images moved apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from dmlviz.losses.answers import CurveAxis, CurveControl
from dmlviz.losses.base import Loss
from dmlviz.miners.tuples import Triplets

Kind = Literal["pair", "triplets", "weights"]

DIMENSIONS = 4
DEGREE = torch.pi / 180
_SAME = 1e-9  # relative: two values are equal
# The rows are orthonormal, and the mean of the coordinates of the first three is 0.
_BASIS = torch.tensor([[1.0, -1, 0, 0], [1, 1, -2, 0], [1, 1, 1, -3], [1, 1, 1, 1]], dtype=torch.float64)
_BASIS = _BASIS / _BASIS.norm(dim=1, keepdim=True)
_LEARNED_RANGE = 10.0


DISTANCE = CurveAxis("distance", 0.0, 2.0)
ANGLE = CurveAxis("angle", 0.0, torch.pi, DEGREE, "°")


@dataclass(frozen=True)
class Scene:
    """A drawing of a loss: two curves over one axis.

    Args:
        kind: Two images; anchor, positive and negative; or one image and the weights of the classes.
        axis: The moving quantity.
        held: The fixed quantities, as sliders.
        listed: Whether the loss is given the one triplet instead of the batch.
        twice: Whether the negative is there twice, as a pair of its class.
        beside: Whether the negative is on the same side of the anchor as the positive.
    """

    kind: Kind
    axis: CurveAxis
    held: tuple[CurveControl, ...]
    listed: bool = False
    twice: bool = False
    beside: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two curves, the near one first."""
        return {
            "pair": ("same class", "other class"),
            "triplets": ("positive moves", "negative moves"),
            "weights": ("own class weight moves", "another class weight moves"),
        }[self.kind]

    @property
    def note(self) -> str:
        """A sentence or two on what the plot shows."""
        on_circle = self.axis is ANGLE
        if self.kind == "pair":
            between = "at an angle" if on_circle else "at a distance"
            text = (
                f"Two images {between}: a pair of one class is pulled together where the loss rises, "
                "a pair of two classes is pushed apart where it falls."
            )
        elif self.kind == "triplets":
            where = "on a circle" if on_circle else "in a line"
            text = (
                f"Anchor, positive and negative {where}. One curve moves the positive while the negative stays, "
                "the other moves the negative."
            )
            if self.beside:
                text += " Positive and negative are on the same side of the anchor."
            if not self.listed:
                text += " They are the whole batch, so the positive is an anchor too."
            if self.twice:
                text += " The negative stands for two images of its class, in one place."
        else:
            text = (
                "No pair of images: one image and the angle to the weight of its own class, or of another class. "
                "The weights of all other classes are at right angles."
            )
        if any(control.name.startswith("learned.") for control in self.held):
            text += " What the loss learns starts where its sliders start."
        return text

    def place(self, near: bool, moving: Tensor, held: Mapping[str, float]) -> tuple[Tensor, Tensor | None]:
        """Return the points for each value of `moving` (T), and the class weights where the loss has some.

        Args:
            near: Whether the positive (the own weight) moves, not the negative (another weight).
            moving: T values of the axis.
            held: The value of each slider.

        Returns:
            T × n × 4 points, T × k × 4 weights or None.
        """
        length, unit = held.get("length", 1.0), self.axis.unit
        rest = torch.zeros_like(moving)
        if self.kind == "pair":
            points = [rest, moving]
        else:
            positive = moving if near else rest + held["p"] * unit
            negative = moving if not near else rest + held["n"] * unit
            if self.kind == "weights":
                own = _at(positive, (0, 1))
                other = _at(negative, (0, 2))
                aside = _BASIS[3].expand(len(moving), int(held["others"]) - 1, DIMENSIONS)
                weights = torch.cat([own[:, None], other[:, None], aside], dim=1)
                return (length * _at(rest, (0, 1)))[:, None], weights
            opposite = negative if self.beside else -negative
            points = [rest, positive, opposite] + ([opposite] if self.twice else [])
        if self.axis is ANGLE:
            placed = [length * _at(angle, (0, 1)) for angle in points]
        else:
            placed = [at[:, None] * _BASIS[0] for at in points]
        return torch.stack(placed, dim=1), None

    def labels(self, near: bool) -> Tensor:
        """Return the class of each point."""
        if self.kind == "pair":
            return torch.tensor([0, 0 if near else 1])
        if self.kind == "weights":
            return torch.tensor([0])
        return torch.tensor([0, 0, 1, 1] if self.twice else [0, 0, 1])

    @property
    def tuples(self) -> Triplets | None:
        """The triplet that the loss is given, if any."""
        return Triplets(*torch.tensor([[0], [1], [2]])) if self.listed else None


def _at(angle: Tensor, plane: tuple[int, int]) -> Tensor:
    """Return unit vectors (T × 4) at T angles in a plane of the basis."""
    first, second = (_BASIS[row] for row in plane)
    return angle.cos()[:, None] * first + angle.sin()[:, None] * second


def scene_of(loss: Loss) -> Scene:
    """Choose the scene of a loss (built for 4 dimensions, in float64) by what it looks at.

    A loss with class weights is shown with them; one that already says something about two images alone, of one class
    and of two, is shown with two; every other with an anchor, a positive and a negative. The axis is the distance
    where only differences count, and the angle elsewhere, with a length where lengths count too.
    """
    spec = loss.declaration
    learned = _learned(loss)
    if spec.needs_classes:
        others = CurveControl("others", "Other classes", 9, 1, 99, 1)
        length = () if _ignores_length(loss) else (_length(5.0),)
        return Scene("weights", ANGLE, (*_held(ANGLE, "class weight", 30, 90), others, *length))
    axis, length = DISTANCE, ()
    if spec.on_sphere or not _ignores_shift(loss):
        axis = ANGLE
        length = () if spec.on_sphere or _ignores_length(loss) else (_length(1.0),)
    pair = Scene("pair", axis, (*length, *learned))
    if all(_moves(loss, pair, near) for near in (True, False)):
        return pair
    held = _held(axis, "", 40, 60) if axis is ANGLE else _held(axis, "", 0.6, 0.8)
    listed = spec.tuple_kinds == {"triplets"}
    triplet = Scene("triplets", axis, (*held, *length, *learned), listed=listed)
    # Of these ways to place the three, the first in which both curves say something, else the first in which one does.
    ways = (triplet, replace(triplet, beside=True), replace(triplet, twice=True))
    moving = [(way, sum(_moves(loss, way, near) for near in (True, False))) for way in ways]
    return max(moving, key=lambda found: found[1])[0]


def _held(axis: CurveAxis, noun: str, positive: float, negative: float) -> tuple[CurveControl, CurveControl]:
    unit = ", degrees" if axis is ANGLE else ""
    names = ("Own class weight", "The other class weight") if noun else ("Positive", "Negative")
    high, step = (180.0, 5.0) if axis is ANGLE else (2.0, 0.05)
    return (
        CurveControl("p", f"{names[0]} held at{unit}", positive, 0, high, step),
        CurveControl("n", f"{names[1]} held at{unit}", negative, 0, high, step),
    )


def _length(default: float) -> CurveControl:
    return CurveControl("length", "Length of the embedding", default, 0.5, 20, 0.5)


def _learned(loss: Loss) -> tuple[CurveControl, ...]:
    """Return sliders for the single numbers that a loss learns, except where a parameter says where they start."""
    known = {parameter.name for parameter in loss.declaration.parameters}
    controls = []
    for name, values in loss.named_parameters():
        if values.numel() == 1 and name not in known:
            start = float(values.detach())
            title = name.replace("_", " ").capitalize()
            reach = max(_LEARNED_RANGE, 2 * abs(start))
            controls.append(
                CurveControl(f"learned.{name}", f"{title} (learned)", start, start - reach, start + reach, 0.5)
            )
    return tuple(controls)


def _moves(loss: Loss, scene: Scene, near: bool) -> bool:
    """Return whether the loss changes at all along a curve of the scene."""
    moving = torch.linspace(scene.axis.low + 0.02, scene.axis.high - 0.02, 9, dtype=torch.float64)
    held = {control.name: control.default for control in scene.held}
    points, _ = scene.place(near, moving, held)
    labels, tuples = scene.labels(near), scene.tuples
    with torch.no_grad():
        values = torch.stack([loss(x, labels, tuples) for x in points])
    return bool(values.max() - values.min() > _SAME * (1 + values.abs().max()))


def _ignores_shift(loss: Loss) -> bool:
    return _unchanged(loss, lambda x: x + torch.linspace(0.3, 1.1, x.shape[1], dtype=x.dtype))


def _ignores_length(loss: Loss) -> bool:
    return _unchanged(loss, lambda x: 1.7 * x)


def _unchanged(loss: Loss, change: Any) -> bool:
    """Return whether a loss says the same of a batch of six images once `change` has been made to it."""
    random = torch.Generator().manual_seed(0)
    x = torch.randn(6, DIMENSIONS, generator=random, dtype=torch.float64)
    labels = torch.tensor([0, 0, 0, 1, 1, 1])
    with torch.no_grad():
        before, after = loss(x, labels), loss(change(x), labels)
    return bool((before - after).abs() <= _SAME * (1 + before.abs()))
