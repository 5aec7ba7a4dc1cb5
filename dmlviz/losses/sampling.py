"""Values and gradients of a loss on a few points, as Learn draws them: curves, forces, and the loss as a ground."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, cast

import torch
from torch import Tensor
from torch.func import functional_call

from dmlviz import losses
from dmlviz.errors import UserError
from dmlviz.losses.answers import (
    CurveAxis,
    CurveControl,
    CurveMark,
    CurveSide,
    LossAnswer,
    LossCurve,
    LossForces,
    LossGround,
)
from dmlviz.losses.base import Loss
from dmlviz.losses.scenes import ANGLE, DIMENSIONS, Scene, scene_of
from dmlviz.miners.tuples import Triplets

SAMPLES = 160
MAX_SAMPLES = 1000
MAX_POINTS = 64
MAX_CELLS = 64  # on a side of the ground
MAX_CLASSES = 100


def sample_curve(
    name: str, params: Mapping[str, Any], held: Mapping[str, float] | None = None, samples: int = SAMPLES
) -> LossCurve:
    """Sample a loss and its slope along both curves of its scene.

    Args:
        name: The loss.
        params: Its parameters; defaults stand in for those left out.
        held: Values of the scene's sliders; defaults stand in for those left out.
        samples: Number of steps of the axis.

    Returns:
        The scene ("axis", "names", "held", "note"), "marks" on the axis, and "low", "high", "x" (samples + 1 values),
        "near" and "far", each {"loss", "slope"}, lists as long as "x".

    Raises:
        UserError: For an unknown loss, parameter or slider, or a value out of range.
    """
    loss = _loss(name, params, DIMENSIONS, 2)
    scene = _scene(loss)
    if isinstance(samples, bool) or not isinstance(samples, int) or not 2 <= samples <= MAX_SAMPLES:
        raise UserError(f"A curve has 2 to {MAX_SAMPLES} steps; got {str(samples)[:40]}.")
    values = _held(scene, held or {})
    if scene.kind == "weights":
        loss = _loss(name, params, DIMENSIONS, 1 + int(values["others"]))
    marks = _marks(name, params, scene)
    high = max(scene.axis.high, *(1.25 * mark["x"] for mark in marks), 0.0)
    # Not from the very end: where two images coincide no direction leads away, and every slope is 0.
    steps = torch.arange(samples + 1, dtype=torch.float64).clamp_min(0.01)
    x = scene.axis.low + (high - scene.axis.low) * steps / samples
    near, far = (_curve(loss, scene, side, x, values) for side in (True, False))
    return LossCurve(
        axis=cast(CurveAxis, asdict(scene.axis)),
        names=list(scene.names),
        held=[cast(CurveControl, asdict(control)) for control in scene.held],
        note=scene.note,
        marks=marks,
        low=scene.axis.low,
        high=high,
        x=x.tolist(),
        near=near,
        far=far,
    )


def forces(
    name: str,
    params: Mapping[str, Any],
    points: Sequence[Sequence[float]],
    labels: Sequence[int],
    weights: Sequence[Sequence[float]] = (),
    triplet: bool = False,
) -> LossForces:
    """Return the loss of a few points, and the forces on the points and on the class weights.

    Args:
        name: The loss.
        params: Its parameters.
        points: Points (n × d) places.
        labels: Class numbers from 0 (n).
        weights: One class weight a class (k × d), for a loss that has some.
        triplet: Whether the first three points are given as one triplet, where the loss takes triplets only.

    Returns:
        "loss", "active" (share of its terms, 0 to 1), "forces" (n × d, minus the gradient), "on_weights" (k × d).

    Raises:
        UserError: For an unknown loss or parameter, or points that are no n × d numbers.
    """
    ask = _Arrangement(name, params, points, labels, weights, triplet)
    movable = [part.requires_grad_() for part in (ask.x, ask.weights) if part is not None]
    value = ask.loss_of(*movable)
    gradients = torch.autograd.grad(value, movable, allow_unused=True)
    pushed = [
        torch.zeros_like(part) if grad is None else 0 - grad for part, grad in zip(movable, gradients, strict=True)
    ]
    return LossForces(
        loss=value.item(),
        active=float(ask.loss.active),
        forces=pushed[0].tolist(),
        on_weights=pushed[1].tolist() if len(pushed) > 1 else [],
    )


def ground(
    name: str,
    params: Mapping[str, Any],
    points: Sequence[Sequence[float]],
    labels: Sequence[int],
    weights: Sequence[Sequence[float]] = (),
    triplet: bool = False,
    *,
    index: int,
    places: Sequence[Sequence[float]],
) -> LossGround:
    """Return the loss with point `index` (weights count on after the points) at each of `places` instead."""
    ask = _Arrangement(name, params, points, labels, weights, triplet)
    part, row = (ask.x, index) if index < len(ask.x) else (ask.weights, index - len(ask.x))
    where = _matrix(places, ask.x.shape[1], MAX_CELLS**2)
    if part is None or not 0 <= row < len(part):
        raise UserError(f"There is no point {index} to move; there are {len(ask.x)} points and {len(weights)} weights.")
    values = []
    with torch.no_grad():
        for place in where:
            part[row] = place
            values.append(ask.loss_of(*(each for each in (ask.x, ask.weights) if each is not None)).item())
    return LossGround(values=_finite(values))


def answer(question: Mapping[str, Any]) -> LossAnswer:
    """Answer {"loss": "curve" | "forces" | "ground", …arguments}, a request to the inference worker."""
    arguments = {key: value for key, value in question.items() if key != "loss"}
    tasks: dict[str, Callable[..., LossAnswer]] = {
        "curve": sample_curve,
        "forces": forces,
        "ground": ground,
    }
    return tasks[question["loss"]](**arguments)


class _Arrangement:
    """A few points with labels, and a loss that looks at them."""

    def __init__(
        self, name: str, params: Mapping[str, Any], points: Any, labels: Any, weights: Any, triplet: bool
    ) -> None:
        self.x = _matrix(points, None, MAX_POINTS)
        if len(labels) != len(self.x) or not all(
            isinstance(label, int) and 0 <= label < MAX_CLASSES for label in labels
        ):
            raise UserError(f"There is one class number from 0 for each point; got {str(labels)[:80]}.")
        self.labels = torch.tensor(labels)
        self.weights = _matrix(weights, self.x.shape[1], MAX_CLASSES) if len(weights) else None
        classes = max(int(self.labels.max()) + 1, 0 if self.weights is None else len(self.weights))
        self.loss = _loss(name, params, self.x.shape[1], classes)
        only = triplet and self.loss.declaration.tuple_kinds == {"triplets"}
        self.tuples = Triplets(*torch.tensor([[0], [1], [2]])) if only and len(self.x) >= 3 else None

    def loss_of(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        centers = None if weights is None else weights.detach()
        return _with_weights(self.loss, x, self.labels, self.tuples, weights, centers)


def _with_weights(
    loss: Loss, x: Tensor, labels: Tensor, tuples: Triplets | None, weights: Tensor | None, centers: Tensor | None
) -> Tensor:
    """Return the loss with these class weights and centers (k × d) as its own; a class's weights lie together."""
    if weights is None or centers is None:
        return loss(x, labels, tuples)
    own = dict(loss.named_parameters())
    replaced: dict[str, Tensor] = {}
    if "weight" in own and len(own["weight"]) % len(weights) == 0:
        replaced["weight"] = weights.repeat_interleave(len(own["weight"]) // len(weights), dim=0)
    if "centers" in own and own["centers"].shape == centers.shape:
        replaced["centers"] = centers
    value: Tensor = functional_call(loss, replaced, (x, labels, tuples))
    return value


def _curve(loss: Loss, scene: Scene, near: bool, x: Tensor, held: Mapping[str, float]) -> CurveSide:
    moving = x.clone().requires_grad_()
    points, weights = scene.place(near, moving, held)
    labels, tuples, length = scene.labels(near), scene.tuples, held.get("length", 1.0)
    learned = {
        name.removeprefix("learned."): torch.tensor(value, dtype=torch.float64)
        for name, value in held.items()
        if name.startswith("learned.")
    }
    values = []
    for i in range(len(x)):
        if weights is not None:
            value = _with_weights(loss, points[i], labels, tuples, weights[i], length * weights[i])
        elif learned:
            own = {name: learned[name].reshape(part.shape) for name, part in loss.named_parameters() if name in learned}
            value = functional_call(loss, own, (points[i], labels, tuples))
        else:
            value = loss(points[i], labels, tuples)
        values.append(value)
    sampled = torch.stack(values)
    (slope,) = torch.autograd.grad(sampled.sum(), moving, allow_unused=True)
    return CurveSide(
        loss=_finite(sampled.tolist()),
        slope=_finite((torch.zeros_like(x) if slope is None else slope).tolist()),
    )


def _finite(values: list[float]) -> list[float | None]:
    """Return the numbers, with None for those that JSON cannot represent."""
    return [value if math.isfinite(value) else None for value in values]


def _marks(name: str, params: Mapping[str, Any], scene: Scene) -> list[CurveMark]:
    """Return the distances at which a loss on pairs begins to pull and stops pushing, as places on the axis."""
    if scene.kind != "pair":
        return []
    reach = losses.LOSSES[name].thresholds_for(losses.LOSSES[name].with_defaults(params), {})
    if not reach.is_hinge:
        return []
    marks = []
    for value, label in ((reach.positive_threshold, "pull begins"), (reach.negative_threshold, "push ends")):
        if value is None or value <= 0:
            continue
        at = math.sqrt(value) if reach.measure == "sqeuclidean" else value
        if scene.axis is ANGLE:
            at = math.acos(max(-1.0, 1 - value)) if reach.measure == "cosine" else math.pi
        if scene.axis is not ANGLE or at < math.pi:
            marks.append(CurveMark(x=at, label=label))
    return marks


def _held(scene: Scene, given: Mapping[str, float]) -> dict[str, float]:
    known = {control.name: control for control in scene.held}
    values = {name: control.default for name, control in known.items()}
    for name, value in given.items():
        # A slider of another scene: a parameter has just brought this one.
        if name not in known:
            continue
        low, high = known[name].low, known[name].high
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise UserError(f"{known[name].label} is a number from {low:g} to {high:g}; got {str(value)[:40]}.")
        values[name] = float(value)
    return values


def _loss(name: str, params: Mapping[str, Any], dimensions: int, classes: int) -> Loss:
    return _built(name, json.dumps(dict(params), sort_keys=True), dimensions, classes)


@lru_cache(maxsize=64)
def _built(name: str, params: str, dimensions: int, classes: int) -> Loss:
    return losses.build(name, embedding_dim=dimensions, num_classes=classes, **json.loads(params)).double()


_scene = lru_cache(maxsize=64)(scene_of)


def _matrix(rows: Any, width: int | None, most: int) -> Tensor:
    """Return a list of places as a tensor (float64); raise UserError for anything else."""
    try:
        places = torch.tensor(rows, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        places = torch.zeros(0)
    if places.ndim != 2 or not 1 <= len(places) <= most or places.shape[1] != (width or places.shape[1]):
        size = f"{width} numbers each" if width else "the same count of numbers each"
        raise UserError(f"Places are 1 to {most} lists of {size}; got {str(rows)[:80]}.")
    if places.shape[1] > DIMENSIONS or not bool(places.isfinite().all()):
        raise UserError(f"Places are finite numbers in at most {DIMENSIONS} dimensions; got {str(rows)[:80]}.")
    return places
