"""Distances, cosines and masked reductions: the only place with numerical tricks.

float16 and bfloat16 are computed in float32, autocast or not. Nothing is larger than n × n (n × m against proxies).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmlviz.errors import UserError

Kind = Literal["euclidean", "sqeuclidean", "cosine"]
Reduction = Literal["mean", "nonzero", "sum", "none"]
KINDS = ("euclidean", "sqeuclidean", "cosine")

# Pairs nearer than 3e-5 of the largest norm, here squared, are measured by their differences: the product of all points
# has lost digits of their distance, and float32 those of its direction.
_NEAR = 1e-9
# Nearer than this many roundings of the largest norm there is no direction left: the points coincide.
_COINCIDENT = 32

_LENGTHS_TO_SQUARE = 1e-15, 1e15  # between these a vector's length can be had from its squares, in float32 too


def check_batch(embeddings: Any, labels: Any) -> tuple[Float[Tensor, "n d"], Int[Tensor, " n"]]:
    """Return the embeddings as they are and the labels as int64 on the same device.

    Raises UserError for embeddings that are no n × d matrix of floats and for labels that are no n whole numbers.
    """
    if not isinstance(embeddings, Tensor) or not embeddings.is_floating_point():
        kind = embeddings.dtype if isinstance(embeddings, Tensor) else type(embeddings).__name__
        raise UserError(f"Embeddings are a tensor of floating-point numbers; got {kind}: convert with .float().")
    if embeddings.ndim != 2 or embeddings.shape[1] == 0:
        shape = tuple(embeddings.shape)
        raise UserError(f"Embeddings are n images × d dimensions; got shape {shape}: reshape to one row an image.")
    labels = torch.as_tensor(labels, device=embeddings.device)
    if labels.shape != embeddings.shape[:1]:
        raise UserError(
            f"There is one label for each embedding; got labels of shape {tuple(labels.shape)} "
            f"for {len(embeddings)} embeddings: pass {len(embeddings)} class numbers in one dimension."
        )
    if labels.is_floating_point() or labels.is_complex():
        whole = (labels == labels.real.round()) & (labels.abs() < 2.0**63)
        if not whole.all():
            wrong = labels[~whole][0].item()
            raise UserError(f"Labels are whole numbers; got {wrong}: pass class numbers, not scores.")
    return embeddings, labels.to(torch.int64)


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Compute in the type that the tensors have; where autocast is off anyway, nothing is entered, which costs time."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def working(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return `x` in float32, or float64 if it is that; gradients on their way back to half precision saturate."""
    return x if x.dtype in (torch.float32, torch.float64) else _Widened.apply(x)


class _Widened(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.narrow = x.dtype
        return x.float()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        largest = torch.finfo(ctx.narrow).max
        return gradient.clamp(-largest, largest).to(ctx.narrow)


def bounded(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return `working(x)` with numbers beyond ±1e6 (float64: ±1e49) held there, so that their fourth powers add up.

    A space that large has diverged: its losses are then large numbers without a gradient, not infinities.
    """
    x = working(x)
    limit = torch.finfo(x.dtype).max ** 0.16
    return x.clamp(-limit, limit)


def directions(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Return the rows at length 1, exactly for any norm from 1e-30 to 1e38; a zero row stays zero."""
    return _Directions.apply(working(x))


class _Directions(torch.autograd.Function):
    """One step for autograd, which takes as long for many small ones as a loss on class weights does."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        lengths = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        low, high = _LENGTHS_TO_SQUARE
        if x.device.type == "cpu" and len(x) and low < lengths.min().item() and lengths.max().item() < high:
            direction = x / lengths
            ctx.save_for_backward(x, direction, lengths)
            return direction
        scaled, largest = _Directions.scaled(x)
        lengths = scaled.square().sum(dim=1, keepdim=True).clamp_min_(1.0).sqrt_()
        direction = scaled.div_(lengths)
        ctx.save_for_backward(x, direction, lengths, largest)
        return direction

    @staticmethod
    def scaled(x: Tensor) -> tuple[Tensor, Tensor]:
        """The rows with their longest coordinate at 1, so that lengths are 1 … √d, and what they were divided by."""
        largest = x.detach().abs().amax(dim=1, keepdim=True)
        largest = largest.masked_fill_(largest < 1e-30, 1.0)
        return x / largest, largest

    @staticmethod
    def plain(x: Tensor) -> Tensor:
        scaled, _ = _Directions.scaled(x)
        return scaled / scaled.square().sum(dim=1, keepdim=True).clamp_min(1.0).sqrt()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        x, direction, *lengths = ctx.saved_tensors
        if torch.is_grad_enabled():
            return differentiable_gradients(_Directions.plain, (x,), gradient)[0]
        along = (gradient * direction).sum(dim=1, keepdim=True)
        result = torch.addcmul(gradient, direction, along, value=-1)
        for length in lengths:  # one after the other: their product may be too large or too small for a number
            result = result.div_(length)
        return result


def differentiable_gradients(
    plain: Callable[..., Tensor], inputs: tuple[Tensor, ...], gradient: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients of `plain(*inputs)`, which plain operations compute, with a graph of their own.

    For the backward of an autograd function when second derivatives are wanted (`create_graph=True`): what it kept for
    the first ones are numbers that know nothing of the inputs.
    """
    with torch.enable_grad():
        return torch.autograd.grad(plain(*inputs), inputs, gradient, create_graph=True)


def norms(x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Return the lengths of the rows; the gradient at a zero row is zero."""
    return safe_sqrt(bounded(x).square().sum(dim=1))


def safe_sqrt(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return √x, and 0 with gradient 0 where x ≤ 0."""
    zero = x <= 0
    return x.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


def distance_matrix(x: Float[Tensor, "n d"], kind: str = "euclidean") -> Float[Tensor, "n n"]:
    """Return all distances among the rows: "euclidean", "sqeuclidean" or "cosine" (1 − cosine).

    The diagonal is exactly 0, and so is the gradient where two points coincide. Do not write into the result: within
    `sharing()` it is everybody's.
    """
    if kind == "cosine":
        cosine = cosine_matrix(x)
        return (1 - cosine).masked_fill(torch.eye(len(x), dtype=torch.bool, device=x.device), 0.0)
    if kind == "sqeuclidean" and not _known("euclidean", x):
        return _once("sqeuclidean", x, lambda x: _Distance.apply(bounded(x), None, True))
    if kind == "euclidean" and _known("sqeuclidean", x) and not (torch.is_grad_enabled() and x.requires_grad):
        return distance_matrix(x, "sqeuclidean").sqrt()
    distance = _once("euclidean", x, lambda x: _Distance.apply(bounded(x), None, False))
    return _as(distance, kind)


def cosine_matrix(x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Return all cosines among the rows; those of a zero row are 0. Do not write into the result."""
    return _once("cosine", x, lambda x: cross_cosine(x, None))


def cross_distance(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"], kind: str = "euclidean") -> Float[Tensor, "n m"]:
    """Return the distances from the rows of `x` to those of `y` (proxies, centres); gradients reach both."""
    if kind == "cosine":
        return 1 - cross_cosine(x, y)
    dtype = torch.promote_types(working(x).dtype, working(y).dtype)
    squared = kind == "sqeuclidean"
    distance = _Distance.apply(bounded(x).to(dtype), bounded(y).to(dtype), squared)
    return distance if squared else _as(distance, kind)


def cross_cosine(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"] | None) -> Float[Tensor, "n m"]:
    """Return the cosines between the rows of `x` and those of `y` (`x` itself when None)."""
    with without_autocast(x.device):
        x = directions(x)
        return x @ (x if y is None else directions(y).to(x.dtype)).T


def _as(distance: Tensor, kind: str) -> Tensor:
    if kind not in KINDS:
        raise UserError(f"A distance is one of {', '.join(KINDS)}; got {kind!r}.")
    return distance.square() if kind == "sqeuclidean" else distance


class _Distance(torch.autograd.Function):
    """Euclidean distances, or their squares, by one float64 product of centred points: exact after any offset, cheap.

    Keeps the points for backward, and the distances where their root is asked for, nothing else; goes back in single
    precision unless some points are very near each other. There are no masks in what every batch goes through: on a
    CPU a masked fill costs as much as several sums.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor | None, square: bool) -> Tensor:
        a, b = _centred(x, y, _wide(x))
        norms, others = a.square().sum(dim=1), b.square().sum(dim=1)
        squared = (-2 * a) @ b.T
        squared += norms[:, None]
        squared += others
        if y is None:
            squared.fill_diagonal_(torch.inf)
        largest = torch.cat([norms, others, norms.new_zeros(1)]).max().item()
        near = max(_NEAR, _COINCIDENT * torch.finfo(a.dtype).eps) * largest
        ctx.near = bool(squared.numel()) and not squared.min().item() > near
        if ctx.near:
            ctx.near = _measure_near(squared, x, y, near, largest)
        distance = squared.to(x.dtype)
        if not square:
            distance.sqrt_()
        if y is None:
            distance.fill_diagonal_(0.0)
        ctx.save_for_backward(x, y, None if square else distance)
        return distance

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, y, distance = ctx.saved_tensors
        a, b = _centred(x, y, _wide(x) if ctx.near else x.dtype)
        if distance is None:
            pull = 2 * gradient
        elif torch.is_grad_enabled():  # as below, but the second derivative is 0, too, where the distance is 0
            apart = distance > 0
            pull = torch.where(apart, gradient / torch.where(apart, distance, 1.0), 0.0)
        else:  # gradient / distance, and 0 where the distance is 0
            pull = gradient * distance / (distance.square() + torch.finfo(distance.dtype).tiny)
        pull = pull.to(a.dtype)
        if y is None:
            pull = pull + pull.T
            return torch.addmm(pull.sum(dim=1)[:, None] * a, pull, a, alpha=-1).to(x.dtype), None, None
        to_x = torch.addmm(pull.sum(dim=1)[:, None] * a, pull, b, alpha=-1)
        to_y = torch.addmm(pull.sum(dim=0)[:, None] * b, pull.T, a, alpha=-1)
        return to_x.to(x.dtype), to_y.to(y.dtype), None


def _wide(x: Tensor) -> torch.dtype:
    return torch.float32 if x.device.type == "mps" else torch.float64  # Apple's GPUs have no float64


def _centred(x: Tensor, y: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    a = x.to(dtype)
    centre = a.detach().sum(dim=0) / max(len(a), 1)
    a = a - centre
    return a, a if y is None else y.to(dtype) - centre


def _measure_near(squared: Tensor, x: Tensor, y: Tensor | None, near: float, largest: float) -> bool:
    """Write the squared distances of up to `near` anew, from differences; return whether any of them is not 0."""
    rows = (squared <= near).any(dim=1).nonzero().squeeze(1)
    some, all_ = x[rows].to(squared.dtype), (x if y is None else y).to(squared.dtype)
    exact = torch.cdist(some, all_, compute_mode="donot_use_mm_for_euclid_dist").square_()
    exact.masked_fill_(exact <= (_COINCIDENT * torch.finfo(exact.dtype).eps) ** 2 * largest, 0.0)
    chosen = squared[rows] <= near
    squared[rows] = torch.where(chosen, exact, squared[rows])
    return bool((exact[chosen] > 0).any())


class _Entry(NamedTuple):
    name: str
    source: Tensor
    version: int
    matrix: Tensor


_shared: ContextVar[list[_Entry] | None] = ContextVar("shared", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Within it, miner, loss and statistics of the same embeddings share one distance and one cosine matrix.

    With gradients enabled the matrix carries them, otherwise (`torch.no_grad()`, detached embeddings) it comes
    detached. As the matrix is part of one graph, call backward once within it.
    """
    if _shared.get() is not None:
        yield
        return
    token = _shared.set([])
    try:
        yield
    finally:
        _shared.reset(token)


def _once(name: str, x: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    entries = _shared.get()
    if entries is None:
        return compute(x)
    version = 0 if x.is_inference() else x._version
    with_graph = torch.is_grad_enabled() and x.requires_grad
    for entry in entries:
        if entry.name == name and entry.version == version and _same_numbers(entry.source, x):
            if not with_graph:
                return entry.matrix.detach()
            if entry.source is x and entry.matrix.requires_grad:
                return entry.matrix
    with torch.set_grad_enabled(x.requires_grad):  # a miner comes first, without gradient; the loss will want it
        matrix = compute(x)
    entries.append(_Entry(name, x, version, matrix))
    return matrix if with_graph else matrix.detach()


def _known(name: str, x: Tensor) -> bool:
    """Whether that matrix of `x` is shared already."""
    version = 0 if x.is_inference() else x._version
    entries = _shared.get() or ()
    return any(entry.name == name and entry.version == version and _same_numbers(entry.source, x) for entry in entries)


def _same_numbers(a: Tensor, b: Tensor) -> bool:
    # The entry holds on to its tensor, so equal addresses are the same memory.
    return a is b or (
        a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype
    )


def lowest(values: Tensor) -> float:
    """As good as −∞ in a maximum or a log-sum-exp, but sums and differences of two stay finite."""
    return torch.finfo(values.dtype).min / 4


def masked_sum(values: Tensor, mask: Bool[Tensor, "..."], dim: int | None = None) -> Tensor:
    """Return the sum of the selected values; 0 where none is."""
    return torch.where(mask, values, 0.0).sum(dim=dim)


def masked_mean(values: Tensor, mask: Bool[Tensor, "..."], dim: int | None = None) -> Tensor:
    """Return the mean of the selected values; 0 where none is."""
    return masked_sum(values, mask, dim) / mask.sum(dim=dim).clamp_min(1)


def masked_max(values: Tensor, mask: Bool[Tensor, "..."], dim: int = -1) -> Tensor:
    """Return the greatest selected value along `dim`; `lowest(values)` where none is."""
    selected = torch.where(mask, values, lowest(values))
    return selected.amax(dim=dim) if values.shape[dim] else selected.sum(dim=dim) + lowest(values)


def masked_min(values: Tensor, mask: Bool[Tensor, "..."], dim: int = -1) -> Tensor:
    """Return the least selected value along `dim`; `-lowest(values)` where none is."""
    return -masked_max(-values, mask, dim)


def masked_logsumexp(values: Tensor, mask: Bool[Tensor, "..."], dim: int = -1) -> Tensor:
    """Return log Σ exp over the selected values along `dim`; `lowest(values)` where none is."""
    if not values.shape[dim]:
        return values.sum(dim=dim) + lowest(values)
    result, _ = _LogSumExp.apply(values, mask, dim)
    return result


class _LogSumExp(torch.autograd.Function):
    """By way of a softmax, which is its own gradient; torch's logsumexp takes 10 to 30 times as long where e^x is 0.

    The softmax is a result, too: nobody else takes it, but as a result it can be differentiated again.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, mask: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        selected = torch.where(mask, values, lowest(values))
        greatest = selected.amax(dim=dim, keepdim=True)
        share = selected.softmax(dim=dim)
        result = greatest - share.amax(dim=dim, keepdim=True).log()
        ctx.save_for_backward(share, greatest > lowest(values))
        ctx.dim = dim
        ctx.set_materialize_grads(False)
        return result.squeeze(dim), share

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, of_share: Tensor | None) -> tuple[Tensor | None, None, None]:
        share, some = ctx.saved_tensors
        pull = None if gradient is None else (gradient.unsqueeze(ctx.dim) * some) * share
        if of_share is not None:
            turn = softmax_gradient(share * some, of_share, ctx.dim)
            pull = turn if pull is None else pull + turn
        return pull, None, None


def softmax_gradient(share: Tensor, gradient: Tensor, dim: int) -> Tensor:
    """Return the gradient of what a softmax, which gave `share`, was taken of."""
    return share * (gradient - (gradient * share).sum(dim=dim, keepdim=True))


def softplus(x: Tensor) -> Tensor:
    """Return log(1 + eˣ), exact to rounding in float64 too (torch's default is linear from 20 on)."""
    return torch.nn.functional.softplus(x, threshold=40)


def reduce(values: Tensor, mask: Bool[Tensor, "..."] | None, reduction: str = "mean") -> Tensor:
    """Reduce the selected values (all, without a mask): their "mean", the mean of those not 0 ("nonzero") or "sum".

    "none" gives a vector of them. Nothing selected gives 0 with its graph; a NaN that is selected gives NaN.
    """
    if mask is None:
        if reduction == "mean" and values.numel():
            return values.mean()
        mask = torch.ones_like(values, dtype=torch.bool)
    if reduction == "none":
        return values[mask]
    if reduction == "sum":
        return masked_sum(values, mask)
    if reduction == "nonzero":
        return masked_sum(values, mask) / (mask & (values != 0)).sum().clamp_min(1)
    if reduction == "mean":
        return masked_mean(values, mask)
    raise UserError(f"A reduction is one of mean, nonzero, sum, none; got {reduction!r}.")


def grounded(loss: Tensor, embeddings: Float[Tensor, "n d"]) -> Tensor:
    """Return `loss` as part of the embeddings' graph, whatever it was made of; NaN where an embedding holds a NaN."""
    return _Grounded.apply(loss, embeddings)


class _Grounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: Tensor, embeddings: Tensor) -> Tensor:
        ctx.embeddings = embeddings.shape, embeddings.dtype
        return loss + (embeddings * 0).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        shape, dtype = ctx.embeddings
        return gradient, torch.zeros((), dtype=dtype, device=gradient.device).expand(shape)
