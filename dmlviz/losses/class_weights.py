"""Base of losses with class weights: the weights, the check that each label has one, angle margins."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dmlviz.errors import UserError
from dmlviz.losses.base import Loss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.terms import Numbers, Terms
from dmlviz.ops.pairwise import safe_sqrt
from dmlviz.ops.reductions import strongest_and_rest


class ClassWeights(Loss):
    """A loss that owns one weight vector (or several) for each of `num_classes` classes, drawn from `seed`."""

    def __init__(self, *, embedding_dim: int, num_classes: int, seed: int, per_class: int = 1) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.num_classes = num_classes
        generator = torch.Generator().manual_seed(seed)
        if embedding_dim == 2:
            rows = _around_the_circle(num_classes, per_class, generator)
        else:
            # At random, lengths about 1: the learning rate then turns them at the same pace in any dimension.
            rows = torch.randn(num_classes * per_class, embedding_dim, generator=generator) / math.sqrt(embedding_dim)
        self.weight = nn.Parameter(rows)

    def scores(self, batch: LossBatch) -> Float[Tensor, "n classes"]:
        """Return the logits, whose cross-entropy with the labels is the loss."""
        raise NotImplementedError

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return what the score of each image's own class is made of (n each), for the formula of a term."""
        return {}

    def terms(self, batch: LossBatch) -> Terms:
        """Return the cross-entropy of each image's scores, with label smoothing if so (Szegedy et al. 2016, eq. 7)."""
        self.check_batch(batch)
        scores = self.scores(batch)
        values = cross_entropy(scores, batch.labels, reduction="none", label_smoothing=self.smoothing)
        return per_image(values, lambda: {**cross_entropy_numbers(scores, batch.labels), **self.score_numbers(batch)})

    def class_centers(self) -> Float[Tensor, "k d"]:
        """Return the directions of the class weights."""
        return nn.functional.normalize(self.weight.detach().float())

    def check_batch(self, batch: LossBatch) -> None:
        """Raise UserError unless the weights fit the embeddings and every label has a weight."""
        dimensions = batch.embeddings.shape[1]
        if dimensions != self.embedding_dim:
            raise UserError(
                f"{self.declaration.name} was built for {self.embedding_dim}-dimensional embeddings; got {dimensions} "
                f"dimensions: build it with embedding_dim={dimensions}."
            )
        batch.class_indices(self.num_classes)

    def extra_repr(self) -> str:
        """Say how many classes and dimensions there are."""
        return f"{self.num_classes} classes, {self.embedding_dim} dimensions"


def _around_the_circle(num_classes: int, per_class: int, generator: torch.Generator) -> Float[Tensor, "k 2"]:
    """Return vectors evenly spread on an arc of the circle for each class; arcs are of one width, in random order.

    On a circle classes cannot pass each other: those that began in one place, as random ones do, would stay there.
    """
    arcs = torch.randperm(num_classes, generator=generator)[:, None] + torch.rand((), generator=generator)
    angles = 2 * math.pi / num_classes * (arcs + torch.arange(per_class) / per_class).flatten()
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def per_image(values: Float[Tensor, " n"], numbers: Callable[[], Numbers]) -> Terms:
    """Return one smooth term for each image, all of which count."""
    return Terms(values, None, smooth=True, numbers=numbers)


def cross_entropy_numbers(scores: Float[Tensor, "n classes"], labels: Tensor) -> dict[str, Tensor | float]:
    """Return the scores of the own class y and of the strongest other class c, and what the other classes add."""
    own = scores.gather(1, labels[:, None]).squeeze(1)
    most, others = strongest_and_rest(scores, torch.arange(scores.shape[1], device=labels.device) != labels[:, None])
    return {"z_y": own, "z_c": most, r"\sum_{k\ne y,c} e^{z_k-z_y}": (others - own).exp()}


def degrees(cosine: Tensor) -> Tensor:
    """Return the angle of a cosine, in degrees."""
    return torch.rad2deg(torch.acos(cosine.clamp(-1, 1)))


def replace_at_label(
    values: Float[Tensor, "n classes"], labels: Tensor, new: Float[Tensor, " n"]
) -> Float[Tensor, "n classes"]:
    """Return the scores with each image's own class's replaced."""
    return values.scatter(1, labels[:, None], new[:, None].to(values.dtype))


def cos_with_margin(cosine: Float[Tensor, " n"], m1: float, m2: float, m3: float) -> Float[Tensor, " n"]:
    """Return cos(m₁θ + m₂) − m₃, continued so that it falls on all of 0 ≤ θ ≤ π (Deng et al. 2019).

    Beyond m₁θ + m₂ = π a multiplied angle goes on as (−1)^k cos(m₁θ + m₂) − 2k (Liu et al. 2017), a simple one as
    cosθ − m₂ sin m₂. m₁ need not be a whole number.
    """
    turned = _cos_of_whole_multiple(cosine, int(m1), m2) if m1 == int(m1) else _cos_of_multiple(cosine, m1, m2)
    if m1 == 1:
        continued = torch.where(cosine > -math.cos(m2), turned, cosine - m2 * math.sin(m2))
    else:
        ends = ((j * math.pi - m2) / m1 for j in range(1, math.ceil(m1) + 2))
        k = sum((cosine <= math.cos(end)).to(cosine.dtype) for end in ends if end <= math.pi)
        continued = (1 - 2 * (k % 2)) * turned - 2 * k
    return continued - m3


def cos_of_sum(cosine: Float[Tensor, " n"], angle: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return cos(θ + angle), each image with an angle of its own."""
    return cosine * angle.cos() - _sine(cosine) * angle.sin()


def _sine(cosine: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    squared = (1 - cosine) * (1 + cosine)
    # Of a point on its weight no more than rounding is left, whose root has a slope of any size.
    return safe_sqrt(torch.where(squared <= 4 * torch.finfo(cosine.dtype).eps, 0.0, squared))


def _cos_of_whole_multiple(cosine: Float[Tensor, " n"], m1: int, m2: float) -> Float[Tensor, " n"]:
    """Return cos(m₁θ + m₂) without an arccosine, whose gradient is infinite where point and weight coincide."""
    before, multiple = torch.ones_like(cosine), cosine  # Chebyshev: cos((k−1)θ), cos(kθ)
    sine_before, sine = torch.zeros_like(cosine), torch.ones_like(cosine)  # sin(kθ) / sinθ
    for _ in range(m1 - 1):
        before, multiple = multiple, 2 * cosine * multiple - before
        sine_before, sine = sine, 2 * cosine * sine - sine_before
    if not m2:
        return multiple
    return multiple * math.cos(m2) - _sine(cosine) * sine * math.sin(m2)


def _cos_of_multiple(cosine: Float[Tensor, " n"], m1: float, m2: float) -> Float[Tensor, " n"]:
    """Return cos(m₁θ + m₂) for any m₁; at θ = 0 and θ = π, where the arccosine has no slope, the gradient is 0."""
    nearly_one = 1 - 2 * torch.finfo(cosine.dtype).eps
    return torch.cos(m1 * torch.acos(cosine.clamp(-nearly_one, nearly_one)) + m2)
