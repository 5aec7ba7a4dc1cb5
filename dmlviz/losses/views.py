"""Losses for several views of each image; the positives are the other views, or the other images of the class."""

import torch
from torch import Tensor

from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import register_loss
from dmlviz.losses.terms import LossParts, Numbers, Terms
from dmlviz.ops.pairwise import distance_matrix
from dmlviz.ops.reductions import masked_logsumexp

_EPSILON = 1e-5  # below a variance, as in batch normalization
_VICREG_EPSILON = 1e-4  # of the paper


@register_loss("supcon")
def supcon(batch: LossBatch, *, temperature: float, reduction: str) -> Terms:
    """Log Σ_j e^{s_aj/τ} − mean_p s_ap/τ for each anchor with a positive (Khosla et al. 2020, their eq. 2)."""
    cosine = batch.cosine()
    count = batch.positive.sum(dim=1)
    mean = (cosine * batch.positive).sum(dim=1) / count.clamp_min(1)
    others = masked_logsumexp(cosine / temperature, batch.positive | batch.negative)
    some = count > 0

    def numbers() -> Numbers:
        return {
            r"\log\sum_{j\ne a} e^{s_{aj}/\tau}": others,
            r"\overline{s_{ap}}": mean,
            r"\tau": temperature,
            "|P(a)|": count,
        }

    values = torch.where(some, others, 0.0) - mean / temperature
    return Terms(values, some, reduction, smooth=True, numbers=numbers)


@register_loss("barlow_twins")
def barlow_twins(batch: LossBatch, *, off_diagonal: float) -> Terms:
    """Σ_i (1 − C_ii)² + λ Σ_{i≠j} C_ij², C the correlation of positives over standardized dimensions.

    Zbontar et al. 2021; there, each of two views is standardized by itself.
    """
    x = batch.x
    pairs = batch.positive.to(x.dtype)
    count = pairs.sum()
    centered = x - _mean(x)
    scaled = centered / (_mean(centered.square()) + _EPSILON).sqrt()
    correlation = scaled.T @ pairs @ scaled / count.clamp_min(1)
    own = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    values = (own + off_diagonal * (1 - own)) * (own - correlation).square()
    # One term a pair of dimensions: no image takes part in one more than another.
    nowhere = torch.full_like(batch.labels, -1)
    return Terms(values, (count > 0).expand_as(values), "sum", term_of=nowhere)


@register_loss("vicreg")
def vicreg(batch: LossBatch, *, invariance: float, variance: float, covariance: float) -> LossParts:
    """λ · mean ‖x_a − x_p‖²/d + μ · mean_i [1 − √(C_ii + ε)]₊ + ν/d · Σ_{i≠j} C_ij² (Bardes et al. 2022)."""
    x, d = batch.x, batch.x.shape[1]
    # Not the batch's own matrix: in half precision the gradient that comes by two ways can leave the range.
    apart = distance_matrix(x, "sqeuclidean") / d

    def numbers() -> Numbers:
        return {r"\lambda": invariance, r"\tfrac1d\|x_a-x_p\|^2": apart}

    terms = Terms(invariance * apart, batch.unique_positive_pairs, numbers=numbers)
    if len(batch) < 2:
        return [terms]
    centered = x - _mean(x)
    matrix = centered.T @ centered / (len(batch) - 1)
    spread = (matrix.diagonal() + _VICREG_EPSILON).sqrt()
    others = matrix.square().sum() - matrix.diagonal().square().sum()
    return [terms, variance * (1 - spread).relu().mean(), covariance / d * others]


def _mean(x: Tensor) -> Tensor:
    """Return the mean of each dimension; 0 for no images."""
    return x.sum(dim=0) / max(1, len(x))
