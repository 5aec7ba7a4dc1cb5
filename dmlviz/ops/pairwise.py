"""Distances, cosines and masked reductions, numerically stable.

float16 and bfloat16 are computed in float32, with or without autocast. No intermediate result is larger than n × n
(n × m against proxies).
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
DISTANCES = ("euclidean", "sqeuclidean", "cosine")

# Pairs nearer than 3e-5 of the largest norm (squared: 1e-9) are measured from differences: the matrix product has lost
# digits of their distance, and float32 those of its direction.
_NEAR = 1e-9
# Points nearer than this many roundings of the largest norm have no direction left: they count as equal.
_COINCIDENT_ULPS = 32

_SAFE_NORM_RANGE = 1e-15, 1e15  # squares of such norms neither overflow nor underflow in float32


def check_batch(embeddings: Any, labels: Any) -> tuple[Float[Tensor, "n d"], Int[Tensor, " n"]]:
    """Validate a batch.

    Args:
        embeddings: n × d, a tensor of floats.
        labels: n whole numbers.

    Returns:
        The embeddings unchanged, and the labels as int64 on the same device.

    Raises:
        UserError: For another shape or type.
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
        is_whole = (labels == labels.real.round()) & (labels.abs() < 2.0**63)
        if not is_whole.all():
            invalid = labels[~is_whole][0].item()
            raise UserError(f"Labels are whole numbers; got {invalid}: pass class numbers, not scores.")
    return embeddings, labels.to(torch.int64)


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a context that disables autocast; a null context where it is off already, because entering costs time."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def upcast_half(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return half-precision `x` as float32; the gradient saturates on its way back. float64 stays float64."""
    if x.dtype in (torch.float32, torch.float64):
        return x
    wide: Tensor = _Upcast.apply(x)
    return wide


class _Upcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.narrow = x.dtype
        return x.float()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        largest = torch.finfo(ctx.narrow).max
        return gradient.clamp(-largest, largest).to(ctx.narrow)


def clamp_range(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return `upcast_half(x)` clamped to ±1e6 (float64: ±1e49), so that sums of fourth powers stay finite.

    Embeddings that large have diverged: their loss is then a large number without a gradient, not infinity.
    """
    x = upcast_half(x)
    limit = torch.finfo(x.dtype).max ** 0.16
    return x.clamp(-limit, limit)


def l2_normalize(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Return the rows scaled to length 1, exact for norms from 1e-30 to 1e38; a zero row stays zero.

    Example:
        >>> l2_normalize(torch.tensor([[0.0, 5.0], [0.0, 0.0]])).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    unit: Tensor = _Normalize.apply(upcast_half(x))
    return unit


class _Normalize(torch.autograd.Function):
    """L2 normalization as one autograd node; several small ones take as long as a whole loss on class weights."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        lengths = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        low, high = _SAFE_NORM_RANGE
        if x.device.type == "cpu" and len(x) and low < lengths.min().item() and lengths.max().item() < high:
            direction = x / lengths
            ctx.save_for_backward(x, direction, lengths)
            return direction
        scaled, largest = _Normalize.scaled(x)
        lengths = scaled.square().sum(dim=1, keepdim=True).clamp_min_(1.0).sqrt_()
        direction = scaled.div_(lengths)
        ctx.save_for_backward(x, direction, lengths, largest)
        return direction

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
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
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


def distance_matrix(x: Float[Tensor, "n d"], kind: str = "euclidean") -> Float[Tensor, "n n"]:
    """Return the pairwise distances of the rows.

    Args:
        x: n × d.
        kind: "euclidean", "sqeuclidean" or "cosine" (1 − cosine).

    Returns:
        n × n; the diagonal is exactly 0, and so is the gradient between equal points. Read-only: inside
        `cache_pairwise()` it is shared.

    Example:
        >>> distance_matrix(torch.tensor([[0.0, 0.0], [3.0, 4.0]])).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
    """
    if kind == "cosine":
        cosine = cosine_matrix(x)
        return (1 - cosine).masked_fill(torch.eye(len(x), dtype=torch.bool, device=x.device), 0.0)
    if kind == "sqeuclidean" and not _lookup("euclidean", x):
        return _memoize("sqeuclidean", x, lambda x: _Distance.apply(clamp_range(x), None, True))
    if kind == "euclidean" and _lookup("sqeuclidean", x) and not (torch.is_grad_enabled() and x.requires_grad):
        return distance_matrix(x, "sqeuclidean").sqrt()
    distance = _memoize("euclidean", x, lambda x: _Distance.apply(clamp_range(x), None, False))
    return _to_kind(distance, kind)


def cosine_matrix(x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Return the pairwise cosines of the rows (n × n), 0 for a zero row. Read-only, as `distance_matrix`."""
    return _memoize("cosine", x, lambda x: cross_cosine(x, None))


def cross_distance(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"], kind: str = "euclidean") -> Float[Tensor, "n m"]:
    """Return the distances (n × m) from the rows of `x` to those of `y` (proxies, centers), differentiable in both."""
    if kind == "cosine":
        return 1 - cross_cosine(x, y)
    dtype = torch.promote_types(upcast_half(x).dtype, upcast_half(y).dtype)
    squared = kind == "sqeuclidean"
    distance: Tensor = _Distance.apply(clamp_range(x).to(dtype), clamp_range(y).to(dtype), squared)
    return distance if squared else _to_kind(distance, kind)


def cross_cosine(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"] | None) -> Float[Tensor, "n m"]:
    """Return the cosines (n × m) between the rows of `x` and those of `y`; of `x` with itself when `y` is None."""
    with without_autocast(x.device):
        x = l2_normalize(x)
        return x @ (x if y is None else l2_normalize(y).to(x.dtype)).T


def _to_kind(distance: Tensor, kind: str) -> Tensor:
    if kind not in DISTANCES:
        raise UserError(f"A distance is one of {', '.join(DISTANCES)}; got {kind!r}.")
    return distance.square() if kind == "sqeuclidean" else distance


class _Distance(torch.autograd.Function):
    """Euclidean distances, or their squares, from one float64 product of centered points: exact after any offset.

    Saves the points for backward, and the distances unless squared. Backward runs in single precision unless some
    points are very near each other. The common path uses no masks: on a CPU a masked fill costs as much as several
    sums.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor | None, square: bool) -> Tensor:
        a, b = _centered(x, y, _wide(x))
        norms, others = a.square().sum(dim=1), b.square().sum(dim=1)
        squared = (-2 * a) @ b.T
        squared += norms[:, None]
        squared += others
        if y is None:
            squared.fill_diagonal_(torch.inf)
        largest = torch.cat([norms, others, norms.new_zeros(1)]).max().item()
        near = max(_NEAR, _COINCIDENT_ULPS * torch.finfo(a.dtype).eps) * largest
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
        a, b = _centered(x, y, _wide(x) if ctx.near else x.dtype)
        if distance is None:
            pull = 2 * gradient
        elif torch.is_grad_enabled():  # as below, but the second derivative is 0, too, where the distance is 0
            positive = distance > 0
            pull = torch.where(positive, gradient / torch.where(positive, distance, 1.0), 0.0)
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


class _CacheEntry(NamedTuple):
    name: str
    source: Tensor
    version: int
    matrix: Tensor


_cache: ContextVar[list[_CacheEntry] | None] = ContextVar("pairwise_cache", default=None)


@contextmanager
def cache_pairwise() -> Iterator[None]:
    """Cache distance and cosine matrices, so that miner, loss and statistics of one batch share them.

    With gradients enabled a cached matrix carries its graph; otherwise (`torch.no_grad()`, detached embeddings) it is
    detached. All users share one graph, so call backward once.
    """
    if _cache.get() is not None:
        yield
        return
    token = _cache.set([])
    try:
        yield
    finally:
        _cache.reset(token)


def _memoize(name: str, x: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    entries = _cache.get()
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
    with torch.set_grad_enabled(x.requires_grad):  # the miner runs first, without gradient; the loss needs the graph
        matrix = compute(x)
    entries.append(_CacheEntry(name, x, version, matrix))
    return matrix if with_graph else matrix.detach()


def _lookup(name: str, x: Tensor) -> bool:
    """Return whether that matrix of `x` is cached."""
    version = 0 if x.is_inference() else x._version
    entries = _cache.get() or ()
    return any(entry.name == name and entry.version == version and _same_numbers(entry.source, x) for entry in entries)


def _same_numbers(a: Tensor, b: Tensor) -> bool:
    # The cache keeps the tensor alive, so equal addresses mean the same memory.
    return a is b or (
        a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype
    )


def most_negative(values: Tensor) -> float:
    """Return a stand-in for −∞ in a maximum or log-sum-exp; sums and differences of two of them stay finite."""
    return torch.finfo(values.dtype).min / 4


def masked_sum(values: Tensor, mask: Bool[Tensor, "..."], dim: int | None = None) -> Tensor:
    """Return the sum of the selected values; 0 where none is selected."""
    return torch.where(mask, values, 0.0).sum(dim=dim)


def masked_mean(values: Tensor, mask: Bool[Tensor, "..."], dim: int | None = None) -> Tensor:
    """Return the mean of the selected values; 0 where none is selected."""
    return masked_sum(values, mask, dim) / mask.sum(dim=dim).clamp_min(1)


def masked_max(values: Tensor, mask: Bool[Tensor, "..."], dim: int = -1) -> Tensor:
    """Return the greatest selected value along `dim`; `most_negative(values)` where none is selected."""
    selected = torch.where(mask, values, most_negative(values))
    return selected.amax(dim=dim) if values.shape[dim] else selected.sum(dim=dim) + most_negative(values)


def masked_min(values: Tensor, mask: Bool[Tensor, "..."], dim: int = -1) -> Tensor:
    """Return the least selected value along `dim`; `-most_negative(values)` where none is selected."""
    return -masked_max(-values, mask, dim)


def masked_logsumexp(values: Tensor, mask: Bool[Tensor, "..."], dim: int = -1) -> Tensor:
    """Return log Σ exp over the selected values along `dim`; `most_negative(values)` where none is selected."""
    if not values.shape[dim]:
        return values.sum(dim=dim) + most_negative(values)
    result: Tensor = _LogSumExp.apply(values, mask, dim)[0]
    return result


class _LogSumExp(torch.autograd.Function):
    """Log-sum-exp through a softmax, which is its gradient; torch's own takes 10 to 30 times as long where e^x is 0.

    The softmax is a second output only so that it can be differentiated again.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, mask: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        selected = torch.where(mask, values, most_negative(values))
        greatest = selected.amax(dim=dim, keepdim=True)
        share = selected.softmax(dim=dim)
        result = greatest - share.amax(dim=dim, keepdim=True).log()
        ctx.save_for_backward(share, greatest > most_negative(values))
        ctx.dim = dim
        ctx.set_materialize_grads(False)
        return result.squeeze(dim), share

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, of_share: Tensor | None) -> tuple[Tensor | None, None, None]:
        share, has_any = ctx.saved_tensors
        result = None if gradient is None else (gradient.unsqueeze(ctx.dim) * has_any) * share
        if of_share is not None:
            second = softmax_gradient(share * has_any, of_share, ctx.dim)
            result = second if result is None else result + second
        return result, None, None


def softmax_gradient(share: Tensor, gradient: Tensor, dim: int) -> Tensor:
    """Return the gradient of a softmax's input, given its output `share` and the gradient of that output."""
    return share * (gradient - (gradient * share).sum(dim=dim, keepdim=True))


def softplus(x: Tensor) -> Tensor:
    """Return log(1 + eˣ), accurate in float64 too (torch's default is linear from 20 on)."""
    return torch.nn.functional.softplus(x, threshold=40)


def reduce(values: Tensor, mask: Bool[Tensor, "..."] | None, reduction: str = "mean") -> Tensor:
    """Reduce the selected values to one number.

    Args:
        values: Any shape.
        mask: Selected values; None for all.
        reduction: "mean", "nonzero" (mean of the values that are not 0), "sum", or "none" (the values as a vector).

    Returns:
        The result, part of the graph; 0 if nothing is selected, NaN if a selected value is NaN.

    Raises:
        UserError: For an unknown reduction.

    Example:
        >>> reduce(torch.tensor([0.0, 1.0, 5.0]), None, "nonzero").item()
        3.0
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


def keep_graph(loss: Tensor, embeddings: Float[Tensor, "n d"]) -> Tensor:
    """Return `loss` connected to the graph of the embeddings, so that backward works; NaN if an embedding is NaN."""
    connected: Tensor = _KeepGraph.apply(loss, embeddings)
    return connected


class _KeepGraph(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: Tensor, embeddings: Tensor) -> Tensor:
        ctx.embeddings = embeddings.shape, embeddings.dtype
        return loss + (embeddings * 0).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        shape, dtype = ctx.embeddings
        return gradient, torch.zeros((), dtype=dtype, device=gradient.device).expand(shape)
