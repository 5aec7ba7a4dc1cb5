"""Losses with class weights: an image is compared with a learned vector for each class, not with other images."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from dmlviz.losses.batch import LossBatch
from dmlviz.losses.class_weights import (
    ClassWeights,
    cos_of_sum,
    cos_with_margin,
    cross_entropy_numbers,
    degrees,
    per_image,
    replace_at_label,
)
from dmlviz.losses.registry import REGISTRY, register_loss
from dmlviz.losses.terms import Numbers, Terms
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.pairwise import clamp_range, cross_cosine, cross_distance, safe_norm
from dmlviz.ops.reductions import masked_logsumexp, softplus

implements = REGISTRY.register


@implements("softmax")
class Softmax(ClassWeights):
    """Cross-entropy of W f + b."""

    def __init__(self, *, embedding_dim: int, num_classes: int, seed: int) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, seed=seed)
        self.bias = nn.Parameter(torch.zeros(num_classes))

    def scores(self, batch: LossBatch) -> Tensor:
        """Return W f + b."""
        return linear(batch.x, self.weight.to(batch.x.dtype), self.bias.to(batch.x.dtype))

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return the inner product with the class's weight, and the class's bias."""
        product = (batch.x * self.weight.to(batch.x.dtype)[batch.labels]).sum(dim=1)
        return {r"w_y\cdot f": product, "b_y": self.bias[batch.labels]}


@implements("center")
class Center(Softmax):
    """Softmax, and λ‖f − c_y‖² towards a learned center of the image's class (Wen et al. 2016)."""

    def __init__(self, *, embedding_dim: int, num_classes: int, seed: int, weight: float) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, seed=seed)
        self.pull = weight
        self.centers = nn.Parameter(torch.zeros(num_classes, embedding_dim))

    def class_centers(self) -> Float[Tensor, "k d"]:
        """Return the learned centers."""
        return self.centers.detach().float()

    def terms(self, batch: LossBatch) -> Terms:
        """Return the cross-entropy of each image and its pull to the center."""
        entropy = super().terms(batch)
        to_center = (batch.x - self.centers.to(batch.x.dtype)[batch.labels]).square().sum(dim=1)

        def numbers() -> Numbers:
            own = {} if entropy.numbers is None else entropy.numbers()
            return {**own, r"\lambda": self.pull, r"\|f-c_y\|^2": to_center}

        return per_image(entropy.values + self.pull * to_center, numbers)


@implements("normalized_softmax")
class NormalizedSoftmax(ClassWeights):
    """Cross-entropy of s·cosθ (Wang et al. 2017, NormFace)."""

    def __init__(self, *, embedding_dim: int, num_classes: int, seed: int, scale: float) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, seed=seed)
        self.scale = scale

    def scores(self, batch: LossBatch) -> Tensor:
        """Return s·cosθ."""
        return self.scale * cross_cosine(batch.embeddings, self.weight)

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return the scale and the angle to the class's weight."""
        return {"s": self.scale, r"\theta_y": degrees(_own_cosine(self, batch))}


class AngleMargin(ClassWeights):
    """Cross-entropy of cosines, that of the image's own class made worse by margins; subclasses say the lengths."""

    def __init__(self, *, m1: float = 1.0, m2: float = 0.0, m3: float = 0.0, **sizes: int) -> None:
        super().__init__(**sizes)
        self.margins = m1, m2, m3

    def cosines(self, batch: LossBatch) -> Float[Tensor, "n classes"]:
        """Return the cosine of each image with each class."""
        return cross_cosine(batch.embeddings, self.weight)

    def scales(self, batch: LossBatch) -> Float[Tensor, "n classes"] | float:
        """Return what the cosines are multiplied by."""
        raise NotImplementedError

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return ψ(θ) of the class's angle, and the lengths that multiply it."""
        cosine = self.cosines(batch).gather(1, batch.labels[:, None]).squeeze(1)
        return {
            r"\theta_y": degrees(cosine),
            r"\psi(\theta_y)": cos_with_margin(cosine, *self.margins),
            r"\|f\|": safe_norm(batch.embeddings),
            r"\|w_y\|": safe_norm(self.weight.to(batch.x.dtype))[batch.labels],
        }

    def scores(self, batch: LossBatch) -> Tensor:
        """Return the scaled cosines, that of the own class made worse by the margins."""
        cosine = self.cosines(batch)
        own = cosine.gather(1, batch.labels[:, None]).squeeze(1)
        return self.scales(batch) * replace_at_label(cosine, batch.labels, cos_with_margin(own, *self.margins))


@implements("large_margin_softmax")
class LargeMarginSoftmax(AngleMargin):
    """Softmax in which the own class's angle is multiplied: ‖W‖‖f‖ψ(θ) (Liu et al. 2016)."""

    def __init__(self, *, margin: float, **sizes: int) -> None:
        super().__init__(m1=margin, **sizes)

    def scales(self, batch: LossBatch) -> Tensor:
        """Return ‖f‖‖W‖."""
        return safe_norm(batch.embeddings)[:, None] * safe_norm(self.weight.to(batch.x.dtype))


@implements("sphereface")
class SphereFace(AngleMargin):
    """‖f‖ψ(θ_y), ψ(θ) = (−1)^k cos(mθ) − 2k, weights of length 1 (Liu et al. 2017)."""

    def __init__(self, *, margin: float, **sizes: int) -> None:
        super().__init__(m1=margin, **sizes)

    def scales(self, batch: LossBatch) -> Tensor:
        """Return ‖f‖."""
        return safe_norm(batch.embeddings)[:, None]


@implements("combined_margin")
class CombinedMargin(AngleMargin):
    """s(cos(m₁θ_y + m₂) − m₃) (Deng et al. 2019)."""

    def __init__(self, *, m1: float, m2: float, m3: float, scale: float, **sizes: int) -> None:
        super().__init__(m1=m1, m2=m2, m3=m3, **sizes)
        self.scale = scale

    def scales(self, batch: LossBatch) -> float:
        """Return s."""
        return self.scale

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return the scale, the angle to the class's weight in degrees, and ψ of it."""
        return {**super().score_numbers(batch), "s": self.scale}


@implements("cosface")
class CosFace(CombinedMargin):
    """s(cosθ_y − m) (Wang et al. 2018)."""

    def __init__(self, *, margin: float, scale: float, **sizes: int) -> None:
        super().__init__(m1=1.0, m2=0.0, m3=margin, scale=scale, **sizes)

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return those of the combined margin, and the margin."""
        return {**super().score_numbers(batch), "m": self.margins[2]}


@implements("arcface")
class ArcFace(CombinedMargin):
    """s·cos(θ_y + m); beyond θ = π − m: s(cosθ_y − m·sin m) (Deng et al. 2019)."""

    def __init__(self, *, margin: float, scale: float, **sizes: int) -> None:
        super().__init__(m1=1.0, m2=margin, m3=0.0, scale=scale, **sizes)

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return those of the combined margin, and the margin in degrees."""
        return {**super().score_numbers(batch), "m": math.degrees(self.margins[1])}


@implements("subcenter_arcface")
class SubCenterArcFace(ArcFace):
    """ArcFace on the cosine with the nearest of several centers of each class (Deng et al. 2020)."""

    def __init__(self, *, centers: int, margin: float, scale: float, **sizes: int) -> None:
        super().__init__(margin=margin, scale=scale, per_class=centers, **sizes)

    def cosines(self, batch: LossBatch) -> Float[Tensor, "n classes"]:
        """Return the cosine of each image with the nearest center of each class."""
        nearest: Tensor = super().cosines(batch).unflatten(1, (self.num_classes, -1)).max(dim=2).values
        return nearest


@implements("magface")
class MagFace(NormalizedSoftmax):
    """ArcFace with a margin m(a) that grows with the length a = ‖f‖, and λ(1/a + a/u²) (Meng et al. 2021, their eq. 3).

    m is linear in a from `shortest` to `longest` (u), and constant beyond. Below `shortest`, where the authors' code
    has no gradient, the second term goes on along its tangent, so that short embeddings grow.
    """

    def __init__(
        self,
        *,
        least_margin: float,
        greatest_margin: float,
        shortest: float,
        longest: float,
        regularizer: float,
        **sizes: Any,
    ) -> None:
        super().__init__(**sizes)
        self.margins, self.lengths, self.regularizer = (least_margin, greatest_margin), (shortest, longest), regularizer

    def _margin(self, batch: LossBatch) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
        """Return the length and the margin of each image."""
        (low, high), (shortest, longest) = self.margins, self.lengths
        length = safe_norm(batch.embeddings)
        return length, low + (high - low) / (longest - shortest) * (length.clamp(shortest, longest) - shortest)

    def scores(self, batch: LossBatch) -> Tensor:
        """Return s·cosθ, that of the own class with the margin of the image's length."""
        cosine, (_, margin) = cross_cosine(batch.embeddings, self.weight), self._margin(batch)
        own = cosine.gather(1, batch.labels[:, None]).squeeze(1)
        turned = torch.where(own > -margin.cos(), cos_of_sum(own, margin), own - margin * margin.sin())
        return self.scale * replace_at_label(cosine, batch.labels, turned)

    def terms(self, batch: LossBatch) -> Terms:
        """Return the cross-entropy of each image and what its length costs."""
        entropy, (length, margin) = super().terms(batch), self._margin(batch)
        (shortest, longest), cut = self.lengths, length.clamp_min(self.lengths[0])
        cost = 1 / cut + length / longest**2 - (length - cut) / shortest**2

        def numbers() -> Numbers:
            own = {} if entropy.numbers is None else entropy.numbers()
            lengths: Numbers = {"a": length, "m": torch.rad2deg(margin), r"\lambda": self.regularizer, "g(a)": cost}
            return {**own, r"\psi(\theta_y)": own["z_y"] / self.scale, **lengths}

        return per_image(entropy.values + self.regularizer * cost, numbers)


@implements("adaface")
class AdaFace(NormalizedSoftmax):
    """s(cos(θ_y − m q) − m q − m), q = (‖f‖ − μ) h/σ held in ±1 and without a gradient (Kim et al. 2022, eq. 8).

    A long embedding counts as a good image. μ and σ of the lengths are moving averages: `after_step` takes a batch into
    them; until then each batch has its own. As in the authors' code, the angle stays between 0 and 180°.
    """

    def __init__(self, *, margin: float, concentration: float, momentum: float, **sizes: Any) -> None:
        super().__init__(**sizes)
        self.margin, self.concentration, self.momentum = margin, concentration, momentum
        self.register_buffer("statistics", torch.zeros(3))  # mean, deviation, whether there are some
        self.statistics: Tensor

    @torch.no_grad()
    def _statistics(self, length: Float[Tensor, " n"]) -> Float[Tensor, "2"]:
        """Return mean and deviation of the lengths, this batch taken into those of all before."""
        mean = length.sum() / max(1, len(length))
        deviation = ((length - mean).square().sum() / max(1, len(length) - 1)).sqrt()
        kept = self.statistics.to(length.dtype)
        share = 1 - kept[2] * (1 - self.momentum)
        return share * torch.stack([mean, deviation]) + (1 - share) * kept[:2]

    def after_step(self, batch: LabeledBatch) -> None:
        """Take the lengths of a batch into the moving averages."""
        length = self._lengths(batch.embeddings)
        if len(length):
            found = self._statistics(length)
            self.statistics.copy_(torch.cat([found, torch.ones_like(found[:1])]))

    @staticmethod
    def _lengths(embeddings: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        return safe_norm(embeddings.detach()).clamp(0.001, 100)  # as in the authors' code

    def _quality(self, batch: LossBatch) -> Float[Tensor, " n"]:
        length = self._lengths(batch.embeddings)
        mean, deviation = self._statistics(length)
        quality: Tensor = ((length - mean) / (deviation + 1e-3) * self.concentration).clamp(-1, 1)
        return quality

    def scores(self, batch: LossBatch) -> Tensor:
        """Return s·cosθ, that of the own class made worse by margins that depend on the image's length."""
        cosine, quality = cross_cosine(batch.embeddings, self.weight), self._quality(batch)
        own = cosine.gather(1, batch.labels[:, None]).squeeze(1)
        angle = -self.margin * quality
        turned = cos_of_sum(own, angle)
        turned = torch.where((angle > 0) & (own < -angle.cos()), -1.0, turned)
        turned = torch.where((angle < 0) & (own > angle.cos()), 1.0, turned)
        return self.scale * replace_at_label(cosine, batch.labels, turned - self.margin * (1 + quality))

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return ψ(θ) of the class's angle, and the quality that it follows from."""
        own = self.scores(batch).gather(1, batch.labels[:, None]).squeeze(1)
        return {**super().score_numbers(batch), "q": self._quality(batch), r"\psi(\theta_y)": own / self.scale}


@implements("proxy_anchor")
class ProxyAnchor(ClassWeights):
    """(1/|P⁺|) Σ log(1 + Σ_p e^{−α(s−δ)}) + (1/|P|) Σ log(1 + Σ_n e^{α(s+δ)}) over proxies (Kim et al. 2020, eq. 4).

    Each proxy is an anchor: p runs over the images of its class, n over all others; P⁺ are proxies with images here.
    """

    def __init__(self, *, alpha: float, margin: float, **sizes: int) -> None:
        super().__init__(**sizes)
        self.alpha, self.margin = alpha, margin

    def terms(self, batch: LossBatch) -> Terms:
        """Return a term for each proxy, whose mean is the loss."""
        self.check_batch(batch)
        cosine = cross_cosine(batch.embeddings, self.weight)
        own = batch.labels[:, None] == torch.arange(self.num_classes, device=cosine.device)
        pull = masked_logsumexp(-self.alpha * (cosine - self.margin), own, dim=0)
        push = masked_logsumexp(self.alpha * (cosine + self.margin), ~own, dim=0)
        present = own.any(dim=0).sum().to(cosine.dtype)
        share = self.num_classes / present.clamp_min(1)

        def numbers() -> Numbers:
            return {
                "|P|": float(self.num_classes),
                "|P^+|": present,
                r"\sum_p e^{-\alpha(s_p-\delta)}": pull.exp(),
                r"\sum_n e^{\alpha(s_n+\delta)}": push.exp(),
                "positives": own.sum(dim=0),
                "negatives": (~own).sum(dim=0),
            }

        values = share * softplus(pull) + softplus(push)
        return Terms(values, None, smooth=True, numbers=numbers, term_of=batch.labels)


@implements("proxy_nca")
class ProxyNCA(ClassWeights):
    """Cross-entropy of −‖f̃ − p̃‖², both sides at length `scale` (Movshovitz-Attias et al. 2017)."""

    def __init__(self, *, embedding_dim: int, num_classes: int, seed: int, scale: float) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, seed=seed)
        self.scale = scale

    def scores(self, batch: LossBatch) -> Tensor:
        """Return minus the squared distances to the proxies."""
        return -(self.scale**2) * (2 - 2 * cross_cosine(batch.embeddings, self.weight))

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return the squared distance to the class's proxy."""
        return {r"\|\tilde f-\tilde p_y\|^2": self.scale**2 * (2 - 2 * _own_cosine(self, batch))}


@implements("soft_triple")
class SoftTriple(ClassWeights):
    """Cross-entropy of λ(S_c − δ·[c = y]), S_c a soft maximum over the centers of c (Qian et al. 2019)."""

    def __init__(
        self,
        *,
        embedding_dim: int,
        num_classes: int,
        seed: int,
        centers: int,
        la: float,
        gamma: float,
        margin: float,
    ) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, seed=seed, per_class=centers)
        self.lambda_, self.gamma, self.margin = la, gamma, margin

    def scores(self, batch: LossBatch) -> Tensor:
        """Return λ(S_c − δ·[c = y])."""
        cosine = cross_cosine(batch.embeddings, self.weight).unflatten(1, (self.num_classes, -1))
        similarity = ((cosine / self.gamma).softmax(dim=2) * cosine).sum(dim=2)
        own = similarity.gather(1, batch.labels[:, None]).squeeze(1)
        return self.lambda_ * replace_at_label(similarity, batch.labels, own - self.margin)

    def score_numbers(self, batch: LossBatch) -> Numbers:
        """Return the similarity to the class, and what is done to it."""
        own = self.scores(batch).gather(1, batch.labels[:, None]).squeeze(1)
        return {r"\lambda": self.lambda_, "S_y": own / self.lambda_ + self.margin, r"\delta": self.margin}


@register_loss("prototypical")
def prototypical(batch: LossBatch, *, support: int, distance: str) -> Terms:
    """−log softmax(−d²(f, c_k)) of the queries, c_k the mean of class k's support (Snell et al. 2017).

    The first `support` images of each class are its support (one less where that would leave no query), the others
    queries.
    """
    index, member = batch.classes
    size = batch.same_class.sum(dim=1)
    place = batch.same_class.tril(-1).sum(dim=1)
    supports = place < (size - 1).clamp(min=1, max=support)
    x = clamp_range(batch.embeddings)
    members = member.to(x.dtype) * supports[:, None]
    prototypes = members.T @ x / members.sum(dim=0).clamp(min=1)[:, None]
    scores = -cross_distance(x, prototypes, distance).masked_fill(~member.any(dim=0), torch.inf)
    values = cross_entropy(scores, index, reduction="none") if len(batch) else x.sum(dim=1)

    def numbers() -> Numbers:
        parts = cross_entropy_numbers(scores, index)
        return {**parts, "d(f,c_y)": -scores.gather(1, index[:, None]).squeeze(1)}

    return Terms(values, ~supports, smooth=True, numbers=numbers)


def _own_cosine(loss: ClassWeights, batch: LossBatch) -> Float[Tensor, " n"]:
    """Return the cosine of each image with the weight of its class."""
    return cross_cosine(batch.embeddings, loss.weight).gather(1, batch.labels[:, None]).squeeze(1)
