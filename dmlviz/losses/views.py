"""Losses for several views of each image; the positives are the other views, or the other images of the class."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.losses.base import Loss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import REGISTRY, register_loss
from dmlviz.losses.terms import LossParts, Numbers, Terms
from dmlviz.miners.tuples import Pairs, Triplets
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.pairwise import distance_matrix
from dmlviz.ops.reductions import masked_logsumexp

_EPSILON = 1e-5  # below a variance, as in batch normalization
_VICREG_EPSILON = 1e-4  # of the paper
_KNOTS = [5 / 8 * k for k in range(1, 9)]  # of the test for a Gaussian, from 0 to 5; those from −5 to 0 add the same


@register_loss("supcon")
def supcon(batch: LossBatch, *, temperature: float, reduction: str) -> Terms:
    """Log Σ_j e^{s_aj/τ} − mean_p s_ap/τ for each anchor with a positive (Khosla et al. 2020, their eq. 2)."""
    cosine = batch.similarity()
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


@REGISTRY.register("sigreg")
class SigReg(Loss):
    """(1 − λ) mean ‖x_a − x̄‖²/d + λ mean_u n ∫|φ_u(t) − e^{−t²/2}|² e^{−t²/2} dt (Balestriero, LeCun 2025, LeJEPA).

    x̄ is the mean of an image and its positives. φ_u is the characteristic function of the batch along a random
    direction u: the second term is the statistic of Epps and Pulley, small for a Gaussian. The integral is that of the
    authors, by 17 points from −5 to 5; their shorter form, from 0 to 3, weighs it by .02. Directions are drawn anew by
    `after_step`.
    """

    def __init__(self, *, balance: float, directions: int, seed: int, **_: Any) -> None:
        super().__init__()
        self.balance, self.directions, self.seed = balance, directions, seed
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.step: Tensor

    def after_step(self, batch: LabeledBatch) -> None:
        """Go on to other directions."""
        self.step += 1

    def terms(self, batch: LossBatch) -> LossParts:
        """Return a term for each image with a positive, and the statistic."""
        x, d = batch.x, batch.x.shape[1]
        together = batch.same_class.to(x.dtype)
        apart = (x - together @ x / together.sum(dim=1, keepdim=True)).square().sum(dim=1) / d

        def numbers() -> Numbers:
            return {r"\lambda": self.balance, r"\tfrac1d\|x_a-\bar x\|^2": apart}

        terms = Terms((1 - self.balance) * apart, batch.positive.any(dim=1), numbers=numbers)
        if len(batch) < 2:
            return [terms]
        drawn = _directions(self.seed, int(self.step), d, self.directions)
        along = x @ torch.from_numpy(drawn).to(x)
        statistic = along.new_zeros(self.directions)
        for t in _KNOTS:
            gauss, width = math.exp(-t * t / 2), 5 / 8 if t < _KNOTS[-1] else 5 / 16
            real, imaginary = (t * along).cos().mean(dim=0), (t * along).sin().mean(dim=0)
            statistic = statistic + 2 * width * gauss * ((real - gauss).square() + imaginary.square())
        return [terms, self.balance * len(batch) * statistic.mean()]


@lru_cache(maxsize=4)
def _directions(seed: int, step: int, dimensions: int, count: int) -> np.ndarray:
    """Return random unit vectors (dimensions × count)."""
    drawn = np.random.default_rng((seed, step)).standard_normal((dimensions, count))
    found: np.ndarray = drawn / np.linalg.norm(drawn, axis=0)
    return found


@REGISTRY.register("graded_contrastive")
class GradedContrastive(Loss):
    """Log Σ_j e^{s_aj/τ} − Σ_j w_aj s_aj/τ / Σ_j w_aj for each anchor: supcon with degrees of being alike.

    Dufumier et al. 2021, their eq. 3. w = e^{−(y_a − y_j)²/(2h²)} for labels that are numbers in an order, as ages or
    grades are; with h = 0 images of one label are alike, and no others. Whoever has several labels of an image, or any
    other measure, gives `similarity` with a call.
    """

    def __init__(self, *, temperature: float, bandwidth: float, reduction: str, **_: Any) -> None:
        super().__init__()
        self.temperature, self.bandwidth, self.reduction = temperature, bandwidth, reduction
        self._similarity: Tensor | None = None

    def forward(
        self,
        embeddings: Tensor,
        labels: Any,
        tuples: Pairs | Triplets | None = None,
        similarity: Tensor | None = None,
    ) -> Tensor:
        """Return the loss of a batch.

        Args:
            embeddings: Embeddings (n × d).
            labels: Whole numbers (n).
            tuples: None: it takes no tuples.
            similarity: How alike images are (n × n), from 0 on, in place of what follows from the labels; the diagonal
                does not count.

        Raises:
            UserError: As any loss, and for a similarity of another shape.

        Examples:
            >>> tags = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 1]]).bool()  # several labels an image
            >>> alike = (tags[:, None] & tags).sum(2) / (tags[:, None] | tags).sum(2)
            >>> from dmlviz import losses
            >>> loss = losses.build("graded_contrastive")
            >>> bool(loss(torch.eye(3), torch.arange(3), similarity=alike) > 0)
            True
        """
        if similarity is not None and similarity.shape != (len(embeddings),) * 2:
            shape, n = tuple(similarity.shape), len(embeddings)
            raise UserError(f"A similarity has a row and a column for each of {n} embeddings; got shape {shape}.")
        self._similarity = similarity
        try:
            return super().forward(embeddings, labels, tuples)
        finally:
            self._similarity = None

    def _weights(self, batch: LossBatch, kind: torch.dtype) -> Tensor:
        if self._similarity is not None:
            return self._similarity.to(kind)
        if not self.bandwidth:
            return batch.same_class.to(kind)
        numbers = batch.labels.to(kind)
        return torch.exp(-((numbers[:, None] - numbers) / self.bandwidth).square() / 2)

    def terms(self, batch: LossBatch) -> Terms:
        """Return a term for each anchor that another image is like."""
        s = batch.cosine()
        weights = torch.where(batch.off_diagonal, self._weights(batch, s.dtype), 0.0)
        total = weights.sum(dim=1)
        some = total > 0
        mean = (weights * s).sum(dim=1) / torch.where(some, total, 1.0)
        others = masked_logsumexp(s / self.temperature, batch.off_diagonal)

        def numbers() -> Numbers:
            return {
                r"\log\sum_{j\ne a} e^{s_{aj}/\tau}": others,
                r"\overline{s_{aj}}^w": mean,
                r"\tau": self.temperature,
                "w": total,
            }

        values = torch.where(some, others, 0.0) - mean / self.temperature
        return Terms(values, some, self.reduction, smooth=True, numbers=numbers)


def _mean(x: Tensor) -> Tensor:
    """Return the mean of each dimension; 0 for no images."""
    return x.sum(dim=0) / max(1, len(x))
