"""Masked sums, means, extrema and log-sum-exp, and the reductions of a loss."""

from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.ops.fixed_path import is_transformed

Reduction = Literal["mean", "nonzero", "sum", "none"]


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
    if is_transformed(values, mask):
        return torch.where(mask, values, most_negative(values)).logsumexp(dim)
    result: Tensor = _LogSumExp.apply(values, mask, dim)[0]
    return result


def strongest_and_rest(values: Tensor, mask: Bool[Tensor, "..."]) -> tuple[Tensor, Tensor]:
    """Return the greatest selected value of each row, and log Σ exp over the row's other selected values.

    Either is `most_negative(values)` where there is none.
    """
    if not values.shape[-1]:
        none = values.sum(dim=-1) + most_negative(values)
        return none, none
    strongest = torch.where(mask, values, most_negative(values)).argmax(dim=-1, keepdim=True)
    rest = masked_logsumexp(values, mask.expand_as(values).scatter(-1, strongest, False))
    return masked_max(values, mask), rest


class _LogSumExp(torch.autograd.Function):
    """Log-sum-exp through a softmax, which is its gradient; torch's own takes 10 to 30 times as long where e^x is 0.

    The softmax is a second output only so that it can be differentiated again.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, mask: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
        selected = torch.where(mask, values, most_negative(values))
        greatest = selected.amax(dim=dim, keepdim=True)
        share = selected.softmax(dim=dim)
        result = greatest - share.amax(dim=dim, keepdim=True).log()
        return result.squeeze(dim), share, greatest > most_negative(values)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, int], output: tuple[Tensor, Tensor, Tensor]) -> None:
        ctx.save_for_backward(*output[1:])
        ctx.dim = inputs[2]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(
        ctx: Any, gradient: Tensor | None, of_share: Tensor | None, _: None
    ) -> tuple[Tensor | None, None, None]:
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

    Examples:
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
    if is_transformed(loss, embeddings):
        return loss + (embeddings * 0).sum()
    connected: Tensor = _KeepGraph.apply(loss, embeddings)
    return connected


class _KeepGraph(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(loss: Tensor, embeddings: Tensor) -> Tensor:
        return loss + (embeddings * 0).sum()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.embeddings = inputs[1].shape, inputs[1].dtype

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        shape, dtype = ctx.embeddings
        return gradient, torch.zeros((), dtype=dtype, device=gradient.device).expand(shape)
