"""Distances and cosines, numerically stable.

float16 and bfloat16 are computed in float32, with or without autocast. No intermediate result is larger than n × n
(n × m against proxies).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.ops.fixed_path import is_transformed, may_look, on_fixed_path

Kind = Literal["euclidean", "sqeuclidean", "cosine"]
DISTANCES = ("euclidean", "sqeuclidean", "cosine")

# Pairs nearer than 3e-5 of the largest norm (squared: 1e-9) are measured from differences: the matrix product has lost
# digits of their distance, and float32 those of its direction.
_NEAR = 1e-9
# Points nearer than this many roundings of the largest norm have no direction left: they count as equal.
_COINCIDENT_ULPS = 32
_may_overflow = ContextVar("may_overflow", default=False)
_SAFE_NORM_RANGE = 1e-15, 1e15  # squares of such norms neither overflow nor underflow in float32


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a context that disables autocast; a null context where it is off already, because entering costs time."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


@contextmanager
def gradients_may_overflow() -> Iterator[None]:
    """Let gradients of what `upcast_half` makes here become infinite: who scales them must see that it was too much."""
    token = _may_overflow.set(True)
    try:
        yield
    finally:
        _may_overflow.reset(token)


def upcast_half(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return half-precision `x` as float32; the gradient saturates on its way back. float64 stays float64."""
    if x.dtype in (torch.float32, torch.float64):
        return x
    wide: Tensor = _Upcast.apply(x)
    return wide


class _Upcast(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.float()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.narrow, ctx.may_overflow = inputs[0].dtype, _may_overflow.get()

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return tangent.float()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        if ctx.may_overflow:
            return gradient.to(ctx.narrow)
        largest = torch.finfo(ctx.narrow).max
        return gradient.clamp(-largest, largest).to(ctx.narrow)


def clamp_range(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return `upcast_half(x)` clamped to ±1e6 (float64: ±1e49), so that sums of fourth powers stay finite.

    Embeddings that large have diverged: their loss is then a large number without a gradient, not infinity.
    """
    x = upcast_half(x)
    limit = torch.finfo(x.dtype).max ** 0.16
    if x.numel() and may_look(x):
        low, high = x.detach().aminmax()
        if -limit < low.item() and high.item() < limit:
            return x  # the gradient of a clamp takes five times as long as this look
    return x.clamp(-limit, limit)


def l2_normalize(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Return the rows scaled to length 1, exact for norms from 1e-30 to 1e38; a zero row stays zero.

    Examples:
        >>> l2_normalize(torch.tensor([[0.0, 5.0], [0.0, 0.0]])).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    x = upcast_half(x)
    unit: Tensor = _Normalize.plain(x) if is_transformed(x) else _Normalize.apply(x)[0]
    return unit


class _Normalize(torch.autograd.Function):
    """L2 normalization as one autograd node; several small ones take as long as a whole loss on class weights.

    Beside the result it returns what backward divides by.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        lengths: Tensor = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        low, high = _SAFE_NORM_RANGE
        if len(x) and may_look(x) and low < lengths.min().item() and lengths.max().item() < high:
            return x / lengths, (lengths,)
        scaled, largest = _Normalize.scaled(x)
        lengths = scaled.square().sum(dim=1, keepdim=True).clamp_min_(1.0).sqrt_()
        return scaled.div_(lengths), (lengths, largest)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, tuple[Tensor, ...]]) -> None:
        ctx.save_for_backward(inputs[0], output[0], *output[1])

    @staticmethod
    def scaled(x: Tensor) -> tuple[Tensor, Tensor]:
        """Return rows divided by their largest coordinate, so that norms are in [1, √d], and the divisors."""
        largest = x.detach().abs().amax(dim=1, keepdim=True)
        largest = largest.masked_fill_(largest < 1e-30, 1.0)
        return x / largest, largest

    @staticmethod
    def plain(x: Tensor) -> Tensor:
        scaled, _ = _Normalize.scaled(x)
        return scaled / scaled.square().sum(dim=1, keepdim=True).clamp_min(1.0).sqrt()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: None) -> Tensor:
        x, direction, *lengths = ctx.saved_tensors
        if torch.is_grad_enabled():
            return differentiable_gradients(_Normalize.plain, (x,), gradient)[0]
        along = (gradient * direction).sum(dim=1, keepdim=True)
        result = torch.addcmul(gradient, direction, along, value=-1)
        for length in lengths:  # one by one: their product may overflow or underflow
            result = result.div_(length)
        return result


def differentiable_gradients(
    plain: Callable[..., Tensor], inputs: tuple[Tensor, ...], gradient: Tensor
) -> tuple[Tensor, ...]:
    """Return gradients that can be differentiated again, for `backward` with `create_graph=True`.

    The tensors that a custom autograd function saves carry no graph, so its own gradients have no second derivative.

    Args:
        plain: The same function in plain torch operations.
        inputs: Its arguments.
        gradient: Gradient of its result.
    """
    with torch.enable_grad():
        return torch.autograd.grad(plain(*inputs), inputs, gradient, create_graph=True)


def safe_norm(x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Return the lengths of the rows; the gradient at a zero row is zero."""
    return safe_sqrt(clamp_range(x).square().sum(dim=1))


def safe_sqrt(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return √x, and 0 with gradient 0 where x ≤ 0."""
    zero = x <= 0
    return x.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


def distance_matrix(
    x: Float[Tensor, "n d"], kind: str = "euclidean", memory: Float[Tensor, "m d"] | None = None
) -> Float[Tensor, "n columns"]:
    """Return the pairwise distances of the rows, and after them those to the rows of a memory.

    Args:
        x: Points (n × d).
        kind: "euclidean", "sqeuclidean" or "cosine" (1 − cosine).
        memory: More points (m × d).

    Returns:
        n × n, or n × (n + m); the diagonal is exactly 0, and so is the gradient between equal points.

    Examples:
        >>> distance_matrix(torch.tensor([[0.0, 0.0], [3.0, 4.0]])).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
    """
    if kind == "cosine":
        return cosine_distance(cosine_matrix(x, memory))
    own = _distance(clamp_range(x), None, kind)
    return own if memory is None else torch.cat([own, cross_distance(x, memory, kind)], dim=1)


def poincare_distance(
    x: Float[Tensor, "n d"], curvature: float, radius: float, memory: Float[Tensor, "m d"] | None = None
) -> Float[Tensor, "n columns"]:
    """Return the distances in the Poincaré ball of the rows, brought there by the exponential map at its center.

    A row v, cut to the length `radius`, is at the distance 2‖v‖ from the center. Distances follow from lengths a, b and
    directions alone, by sinh²(√c d/2) = sinh²(√c (a − b)) + sinh(2√c a) sinh(2√c b) ‖v̂ − ŵ‖²/4: nothing cancels near
    the rim, where points of the ball lie within rounding of each other.

    Args:
        x: Points of the Euclidean space (n × d).
        curvature: c > 0; the ball's radius is 1/√c.
        radius: Greatest length of a row.
        memory: More points (m × d).

    Returns:
        n × n, or n × (n + m); the diagonal is exactly 0, and so is the gradient between equal points.
    """
    root = curvature**0.5
    points = x if memory is None else torch.cat([x, memory.to(x.dtype)])
    length = safe_norm(points).clamp_max(radius) * root
    apart = distance_matrix(l2_normalize(x), "sqeuclidean", None if memory is None else l2_normalize(memory))
    wide, own = _sinh(2 * length), length[: len(x), None]
    half = safe_sqrt(_sinh(own - length).square() + wide[: len(x), None] * wide * apart / 4)
    distance: Tensor = 2 / root * _asinh(half)
    return distance


def ball_distance(
    x: Float[Tensor, "n d"], curvature: float, memory: Float[Tensor, "m d"] | None = None
) -> Float[Tensor, "n columns"]:
    """Return the distances of points of the Poincaré ball: sinh²(√c d/2) = c‖x − y‖²/((1 − c‖x‖²)(1 − c‖y‖²)).

    Args:
        x: Points within the radius 1/√c (n × d).
        curvature: c > 0.
        memory: More points (m × d).

    Returns:
        n × n, or n × (n + m); the diagonal is exactly 0, and so is the gradient between equal points.
    """
    x = clamp_range(x)
    points = x if memory is None else torch.cat([x, memory.to(x.dtype)])
    room = (1 - curvature * points.to(_wide(x)).square().sum(dim=1)).clamp_min(1e-7).to(x.dtype)
    shares = distance_matrix(x, "sqeuclidean", memory) / (room[: len(x), None] * room)
    distance: Tensor = 2 / curvature**0.5 * _asinh(safe_sqrt(curvature * shares))
    return distance


def _asinh(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    # Accurate for small numbers, too, in operations that a page knows.
    return torch.log1p(x + x.square() / (1 + (1 + x.square()).sqrt()))


def _sinh(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return (torch.expm1(x) - torch.expm1(-x)) / 2


def cosine_matrix(x: Float[Tensor, "n d"], memory: Float[Tensor, "m d"] | None = None) -> Float[Tensor, "n columns"]:
    """Return the pairwise cosines of the rows (n × n), 0 for a zero row; then those with the rows of a memory."""
    with without_autocast(x.device):
        x = l2_normalize(x)
        own = x @ x.T
        return own if memory is None else torch.cat([own, x @ l2_normalize(memory).to(x.dtype).T], dim=1)


def cosine_distance(cosine: Float[Tensor, "n columns"]) -> Float[Tensor, "n columns"]:
    """Return 1 − cosine, with zeros on the diagonal."""
    return (1 - cosine).masked_fill(torch.eye(*cosine.shape, dtype=torch.bool, device=cosine.device), 0.0)


def cross_distance(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"], kind: str = "euclidean") -> Float[Tensor, "n m"]:
    """Return the distances (n × m) from the rows of `x` to those of `y` (proxies, centers), differentiable in both."""
    if kind == "cosine":
        return 1 - cross_cosine(x, y)
    dtype = torch.promote_types(upcast_half(x).dtype, upcast_half(y).dtype)
    return _distance(clamp_range(x).to(dtype), clamp_range(y).to(dtype), kind)


def cross_cosine(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """Return the cosines (n × m) between the rows of `x` and those of `y`."""
    with without_autocast(x.device):
        x = l2_normalize(x)
        return x @ l2_normalize(y).to(x.dtype).T


def _distance(x: Tensor, y: Tensor | None, kind: str) -> Tensor:
    if kind not in DISTANCES:
        raise UserError(f"A distance is one of {', '.join(DISTANCES)}; got {kind!r}.")
    square = kind == "sqeuclidean"
    if is_transformed(x, y):
        return _plain_distance(x, y, square)
    distance: Tensor = _Distance.apply(x, y, square)[0]
    return distance


def _plain_distance(x: Tensor, y: Tensor | None, square: bool) -> Tensor:
    a, b = _centered(x, y, _wide(x))
    norms, others = a.square().sum(dim=1), b.square().sum(dim=1)
    squared = norms[:, None] + others - 2 * a @ b.T
    greatest = torch.cat([norms, others, norms.new_zeros(1)]).max()
    equal = squared <= _COINCIDENT_ULPS * torch.finfo(a.dtype).eps * greatest
    if y is None:
        equal = equal | torch.eye(len(a), dtype=torch.bool, device=a.device)
    squared = squared.masked_fill(equal, 0.0)
    return (squared if square else safe_sqrt(squared)).to(x.dtype)


class _Distance(torch.autograd.Function):
    """Euclidean distances, or their squares, from one float64 product of centered points: exact after any offset.

    Beside them it returns whether points are near, and whether they may be equal. Backward runs in single precision
    unless some points are very near each other. The common path uses no masks: on a CPU a masked fill costs as much as
    several sums.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor | None, square: bool) -> tuple[Tensor, bool, bool]:
        a, b = _centered(x, y, _wide(x))
        norms, others = a.square().sum(dim=1), b.square().sum(dim=1)
        squared = (-2 * a) @ b.T
        squared += norms[:, None]
        squared += others
        if y is None:
            squared.fill_diagonal_(torch.inf)
        greatest = torch.cat([norms, others, norms.new_zeros(1)]).max()
        if on_fixed_path():  # the product's digits suffice in float64, but for points that coincide
            is_near = is_equal = True
            squared = torch.where(squared <= _COINCIDENT_ULPS * torch.finfo(a.dtype).eps * greatest, 0.0, squared)
        else:
            largest = greatest.item()
            near = max(_NEAR, _COINCIDENT_ULPS * torch.finfo(a.dtype).eps) * largest
            # Further apart no distance is 0 in the type of `x`, either.
            apart = max(near, torch.finfo(x.dtype).tiny)
            is_near = is_equal = bool(squared.numel()) and not squared.amin().item() > apart
            if is_near:
                is_near = _measure_near(squared, x, y, near, largest)
        distance = squared.to(x.dtype)
        if not square:
            distance.sqrt_()
        if y is None:
            distance.fill_diagonal_(0.0)
        return distance, is_near, is_equal

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor | None, bool], output: tuple[Tensor, bool, bool]) -> None:
        x, y, square = inputs
        distance, ctx.near, ctx.equal = output
        ctx.save_for_backward(x, y, None if square else distance)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: None) -> tuple[Tensor | None, Tensor | None, None]:
        x, y, distance = ctx.saved_tensors
        a, b = _centered(x, y, _wide(x) if ctx.near else x.dtype)
        if distance is None:
            pull = 2 * gradient
        elif torch.is_grad_enabled():  # as below, but the second derivative is 0, too, where the distance is 0
            positive = distance > 0
            pull = torch.where(positive, gradient / torch.where(positive, distance, 1.0), 0.0)
        elif ctx.equal:  # gradient / distance, and 0 where the distance is 0
            pull = gradient * distance / (distance.square() + torch.finfo(distance.dtype).tiny)
        else:
            pull = gradient / distance
            if y is None:
                pull.fill_diagonal_(0.0)
        pull = pull.to(a.dtype)
        if y is None:
            pull = pull + pull.T
            return torch.addmm(pull.sum(dim=1)[:, None] * a, pull, a, alpha=-1).to(x.dtype), None, None
        to_x = torch.addmm(pull.sum(dim=1)[:, None] * a, pull, b, alpha=-1)
        if not ctx.needs_input_grad[1]:  # a memory's points
            return to_x.to(x.dtype), None, None
        to_y = torch.addmm(pull.sum(dim=0)[:, None] * b, pull.T, a, alpha=-1)
        return to_x.to(x.dtype), to_y.to(y.dtype), None


def _wide(x: Tensor) -> torch.dtype:
    return torch.float32 if x.device.type == "mps" else torch.float64  # Apple's GPUs have no float64


def _centered(x: Tensor, y: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    a = x.to(dtype)
    center = a.detach().sum(dim=0) / max(len(a), 1)
    a = a - center
    return a, a if y is None else y.to(dtype) - center


def _measure_near(squared: Tensor, x: Tensor, y: Tensor | None, near: float, largest: float) -> bool:
    """Recompute squared distances of up to `near` from differences, in place; return whether any of them is not 0."""
    rows = (squared <= near).any(dim=1).nonzero().squeeze(1)
    points, others = x[rows].to(squared.dtype), (x if y is None else y).to(squared.dtype)
    exact = torch.cdist(points, others, compute_mode="donot_use_mm_for_euclid_dist").square_()
    exact.masked_fill_(exact <= (_COINCIDENT_ULPS * torch.finfo(exact.dtype).eps) ** 2 * largest, 0.0)
    is_near = squared[rows] <= near
    squared[rows] = torch.where(is_near, exact, squared[rows])
    return bool((exact[is_near] > 0).any())
