"""Losses on the structure of a batch: each anchor or positive pair against all its negatives at once."""

import math
from typing import Any

import torch
from torch import Tensor

from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import register_loss
from dmlviz.losses.terms import LossParts, Numbers, Terms
from dmlviz.miners.tuples import Pairs
from dmlviz.ops.fixed_path import is_transformed, on_fixed_path
from dmlviz.ops.pairwise import poincare_distance, safe_sqrt
from dmlviz.ops.reductions import (
    masked_logsumexp,
    masked_max,
    masked_mean,
    most_negative,
    reduce,
    softmax_gradient,
    softplus,
    strongest_and_rest,
)

_MIN_RELIABLE = 1e8  # a sum of shares below so many of the smallest number may have lost some to rounding


@register_loss("lifted_hard")
def lifted_hard(batch: LossBatch, *, margin: float, reduction: str) -> Terms:
    """[max(max_k m − d_ik, max_l m − d_jl) + d_ij]₊ for each positive pair (Song et al. 2016, their eq. 3)."""
    d = batch.distances("euclidean")
    nearest = masked_max(margin - d, batch.negative)

    def numbers() -> Numbers:
        return {r"\max_k(m-d_{ik})": nearest[:, None], r"\max_l(m-d_{jl})": nearest, "d_{ij}": d}

    values = (torch.maximum(nearest[:, None], nearest) + d).relu()
    return Terms(values, batch.unique_positive_pairs, reduction, numbers=numbers)


@register_loss("lifted")
def lifted(batch: LossBatch, *, margin: float, squared: bool, reduction: str) -> Terms:
    """J = log(Σ_k e^{m−d_ik} + Σ_l e^{m−d_jl}) + d_ij for each positive pair; [J]₊²/2, or [J]₊ (Song et al. 2016)."""
    d = batch.distances("euclidean")
    nearest = masked_logsumexp(margin - d, batch.negative)
    lifted_pair = (_LogAddExp.plain if is_transformed(nearest) else _LogAddExp.apply)(nearest) + d
    hinge = lifted_pair.relu()

    def numbers() -> Numbers:
        sums = nearest.exp()
        first, second = r"\sum_k e^{m-d_{ik}}", r"\sum_l e^{m-d_{jl}}"
        return {"J_{ij}": lifted_pair, first: sums[:, None], second: sums, "d_{ij}": d}

    return Terms(hinge.square() / 2 if squared else hinge, batch.unique_positive_pairs, reduction, numbers=numbers)


class _LogAddExp(torch.autograd.Function):
    """log(e^{v_i} + e^{v_j}) for all i, j; torch's own has a second derivative of NaN where the two are far apart."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor) -> Tensor:
        return torch.logaddexp(values[:, None], values)

    @staticmethod
    def plain(values: Tensor) -> Tensor:
        return torch.stack(torch.broadcast_tensors(values[:, None], values)).logsumexp(dim=0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (values,) = ctx.saved_tensors
        share: Tensor = (values[:, None] - values).sigmoid()
        return ((gradient + gradient.T) * share).sum(dim=1)


@register_loss("generalized_lifted")
def generalized_lifted(batch: LossBatch, *, margin: float, reduction: str) -> Terms:
    """[lse_P d + lse_N(m − d)]₊ for each anchor with both (Hermans et al. 2017, their eq. 10)."""
    d = batch.distances("euclidean")
    pull, push = masked_logsumexp(d, batch.positive), masked_logsumexp(margin - d, batch.negative)

    def numbers() -> Numbers:
        return {r"\sum_p e^{d_{ap}}": pull.exp(), r"\sum_n e^{m-d_{an}}": push.exp(), **batch.counts()}

    return Terms((pull + push).relu(), batch.has_both, reduction, numbers=numbers)


@register_loss("n_pairs")
def n_pairs(batch: LossBatch, *, l2: float, reduction: str) -> LossParts:
    """log(1 + Σ_j e^{f_i·f_j⁺ − f_i·f_i⁺}) over pairs, one pair per class, + l2 · mean ‖f‖² (Sohn 2016).

    A class with 2r images in the batch takes part in r rounds, each with its next two images; a miner's pairs make
    one round, of the first pair listed of each class.
    """
    anchors, positives, rounds, counts = _one_pair_per_class(batch)
    scores = batch.x[anchors] @ batch.x[positives].T
    together = rounds[:, None] == rounds
    if counts is not None:
        together = together & counts
    surprise = masked_logsumexp(scores, together) - scores.diagonal()
    lengths = batch.x[anchors].square().sum(dim=1) + batch.x[positives].square().sum(dim=1)

    def numbers() -> Numbers:
        own = scores.diagonal()
        most, others = strongest_and_rest(scores, together & ~torch.eye(len(own), dtype=torch.bool, device=own.device))
        rest = r"\sum_{k\ne i,j} e^{f_i\cdot f_k^+-f_i\cdot f_i^+}"
        return {r"f_i\cdot f_i^+": own, r"f_i\cdot f_j^+": most, rest: (others - own).exp()}

    term_of = torch.full_like(batch.labels, -1)
    if counts is None:
        term_of[anchors] = term_of[positives] = torch.arange(len(anchors), device=anchors.device)
    listed = Terms(surprise, counts, reduction, smooth=True, numbers=numbers, term_of=term_of)
    return [listed, l2 / 2 * reduce(lengths, counts)]


def _one_pair_per_class(batch: LossBatch) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return anchors, positives, the round of each pair, and which of them count (None: all)."""
    if isinstance(batch.tuples, Pairs):
        a, p = batch.tuples[:2]
        order = batch.labels[a].argsort(stable=True)
        classes = batch.labels[a[order]]
        first = order[torch.cat([classes.new_ones(1).bool(), classes[1:] != classes[:-1]])[: len(order)]]
        return a[first], p[first], torch.zeros_like(first), None
    order = batch.labels.argsort(stable=True)
    classes = batch.labels[order]
    place = torch.arange(len(order), device=order.device)
    rank = place - torch.searchsorted(classes, classes)  # 0, 1, 2 … within each class
    leads = (rank[:-1] % 2 == 0) & (classes[:-1] == classes[1:])
    if is_transformed(leads):  # vmap maps over labels, so that how many lead differs
        return order[:-1], order[1:], rank[:-1], leads
    return order[:-1][leads], order[1:][leads], rank[:-1][leads], None


@register_loss("nt_xent")
def nt_xent(batch: LossBatch, *, temperature: float, reduction: str) -> Terms:
    """log(1 + Σ_N e^{(s_an − s_ap)/τ}) for each ordered positive pair (van den Oord 2018, Chen et al. 2020).

    In a ball s is the distance with a minus: the pairwise cross-entropy of Ermolov et al. 2022.
    """
    s = batch.similarity() / temperature
    negatives = masked_logsumexp(s, batch.negative)

    def numbers() -> Numbers:
        most, others = strongest_and_rest(s, batch.negative)
        rest = r"\sum_{n\ne n^*} e^{(s_{an}-s_{ap})/\tau}"
        return {
            "s_{an^*}": temperature * most[:, None],
            "s_{ap}": batch.similarity(),
            r"\tau": temperature,
            rest: (others[:, None] - s).exp(),
            "negatives": batch.negative.sum(dim=1, keepdim=True),
        }

    if batch.memory is not None:  # most of what it holds is negative
        a, p = batch.positive.nonzero(as_tuple=True)
        return Terms(softplus(negatives[a] - s[a, p]), None, reduction, smooth=True)
    return Terms(softplus(negatives[:, None] - s), batch.positive, reduction, smooth=True, numbers=numbers)


@register_loss("decoupled_contrastive")
def decoupled_contrastive(
    batch: LossBatch, *, temperature: float, weighting: str, sigma: float, reduction: str
) -> Terms:
    """Log Σ_N e^{s_an/τ} − w s_ap/τ for each ordered positive pair: nt_xent without the pair itself in its sum.

    Yeh et al. 2022, their eq. 5; w = 1, or 2 − e^{s_ap/σ} over its mean of all positive pairs (their eq. 6). There, an
    image has one positive; of several, each is compared with the negatives alone.
    """
    s = batch.cosine()
    counts = batch.positive & batch.has_both[:, None]
    negatives = masked_logsumexp(s / temperature, batch.negative)
    weight: Tensor | float = 1.0
    if weighting == "von_mises":
        near = ((s - 1) / sigma).exp()
        weight = 2 - near / masked_mean(near, counts).clamp_min(torch.finfo(s.dtype).tiny)

    def numbers() -> Numbers:
        return {
            r"\sum_n e^{s_{an}/\tau}": negatives.exp()[:, None],
            "w": weight,
            "s_{ap}": s,
            r"\tau": temperature,
            "negatives": batch.negative.sum(dim=1, keepdim=True),
        }

    return Terms(negatives[:, None] - (weight / temperature) * s, counts, reduction, numbers=numbers)


@register_loss("hyperbolic_contrastive")
def hyperbolic_contrastive(
    batch: LossBatch, *, curvature: float, radius: float, temperature: float, reduction: str
) -> Terms:
    """Log(1 + Σ_N e^{(D_ap − D_an)/τ}) for each ordered positive pair, D in the Poincaré ball.

    Ermolov et al. 2022, their eq. 6: nt_xent with the distance in the hyperbolic space, where the exponential map
    brings the embeddings. There, an image has one positive, and batches are compared view by view.
    """
    d = poincare_distance(batch.embeddings, curvature, radius, batch.memory)
    near = -d / temperature
    negatives = masked_logsumexp(near, batch.negative)

    def numbers() -> Numbers:
        most, others = strongest_and_rest(near, batch.negative)
        return {
            "D_{ap}": d,
            "D_{an^*}": -temperature * most[:, None],
            r"\tau": temperature,
            r"\sum_{n\ne n^*} e^{(D_{ap}-D_{an})/\tau}": (others[:, None] - near).exp(),
            "negatives": batch.negative.sum(dim=1, keepdim=True),
        }

    return Terms(softplus(negatives[:, None] - near), batch.positive, reduction, smooth=True, numbers=numbers)


@register_loss("tuple_hinge")
def tuple_hinge(batch: LossBatch, *, margin: float, reduction: str) -> Terms:
    """[max_N s_an − s_ap + m]₊ for each ordered positive pair: the hinge under the softmax of nt_xent."""
    s = batch.cosine()
    nearest = masked_max(s, batch.negative)

    def numbers() -> Numbers:
        return {r"\max_n s_{an}": nearest[:, None], "s_{ap}": s, "m": margin}

    return Terms((nearest[:, None] - s + margin).relu(), batch.positive, reduction, numbers=numbers)


@register_loss("nca")
def nca(batch: LossBatch, *, log: bool, scale: float, reduction: str) -> Terms:
    """−log p_i, or −p_i, for each anchor with a positive: p_i = Σ_P softmax_j(−scale · d²_ij).

    Goldberger, Roweis, Hinton, Salakhutdinov 2005.
    """
    near = -scale * batch.distances("sqeuclidean")
    odds, some = _odds(near, batch)
    values = softplus(odds) if log else -torch.sigmoid(-odds)

    def numbers() -> Numbers:
        own, rest = (masked_logsumexp(near, side).exp() for side in (batch.positive, batch.negative))
        weight = r"e^{-\sigma d^2}"
        return {rf"\sum_P {weight}": own, rf"\sum_N {weight}": rest, "p": torch.sigmoid(-odds)}

    return Terms(values, some, reduction, smooth=log, numbers=numbers)


def _odds(near: Tensor, batch: LossBatch) -> tuple[Tensor, Tensor]:
    """Return the log odds log (1 − p)/p of each anchor, and the mask of those that have a positive."""
    if batch.listed is None and batch.memory is None and not is_transformed(near, batch.positive):
        odds, *_ = _Odds.apply(near, batch.positive)
        if odds is not None:
            return odds, torch.ones_like(odds, dtype=torch.bool)
    own = masked_logsumexp(near, batch.positive)
    return masked_logsumexp(near, batch.negative) - own, ~(own.detach() <= most_negative(near))


class _Odds(torch.autograd.Function):
    """log Σ_N eˣ − log Σ_P eˣ where N and P are all but the diagonal, by one softmax where two are the plain way.

    None where a row lacks one of the two, or a sum is too small a share of the other to be computed. The softmax is a
    result, too, so that it can be differentiated again.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, positive: Tensor) -> tuple[Tensor | None, Tensor | None, tuple[Tensor, ...]]:
        share = values.clone().fill_diagonal_(most_negative(values)).softmax(dim=1)
        of_own, of_rest = _Odds.sums(share, positive)
        least = _MIN_RELIABLE * torch.finfo(values.dtype).tiny
        if on_fixed_path() or not len(values) or not torch.minimum(of_own, of_rest).min().item() > least:
            return None, None, ()
        return (of_rest.log() - of_own.log()).squeeze(1), share, (of_own, of_rest)

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor | None, Tensor | None, tuple[Tensor, ...]]
    ) -> None:
        ctx.save_for_backward(output[1], inputs[1], *output[2])
        ctx.set_materialize_grads(False)

    @staticmethod
    def sums(share: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
        own = torch.where(positive, share, 0.0)
        return own.sum(dim=1, keepdim=True), (share - own).sum(dim=1, keepdim=True)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, of_share: Tensor | None, _: None) -> tuple[Tensor | None, None]:
        share, positive, of_own, of_rest = ctx.saved_tensors
        if torch.is_grad_enabled():
            of_own, of_rest = _Odds.sums(share, positive)
        pull = None
        if gradient is not None:
            gradient = gradient[:, None]
            pull = share * torch.where(positive, -gradient / of_own, gradient / of_rest)
        if of_share is not None:
            turn = softmax_gradient(share, of_share, dim=1)
            pull = turn if pull is None else pull + turn
        return pull, None


@register_loss("tuplet_margin")
def tuplet_margin(batch: LossBatch, *, beta: float, scale: float, reduction: str) -> Terms:
    """log(1 + Σ_N e^{s(cos θ_an − cos(θ_ap − β))}) for each ordered positive pair, β in degrees (Yu, Tao 2019)."""
    cosine, angle = batch.cosine(), math.radians(beta)
    relaxed = cosine * math.cos(angle) + safe_sqrt(1 - cosine.square()) * math.sin(angle)  # cos(θ − β) without acos
    negatives = masked_logsumexp(scale * cosine, batch.negative)

    def numbers() -> Numbers:
        most, others = strongest_and_rest(scale * cosine, batch.negative)
        rest = r"\sum_{n\ne n^*} e^{s(\cos\theta_{an}-\cos(\theta_{ap}-\beta))}"
        return {
            "s": scale,
            r"\cos\theta_{an^*}": most[:, None] / scale,
            r"\cos(\theta_{ap}-\beta)": relaxed,
            rest: (others[:, None] - scale * relaxed).exp(),
            "negatives": batch.negative.sum(dim=1, keepdim=True),
        }

    values = softplus(negatives[:, None] - scale * relaxed)
    return Terms(values, batch.positive, reduction, smooth=True, numbers=numbers)


@register_loss("fastap")
def fastap(batch: LossBatch, *, bins: int, reduction: str) -> Terms:
    """1 − average precision for each anchor with a positive, from histograms of d² = 2 − 2s (Cakir et al. 2019).

    Each pair shares itself between the two nearest of bins + 1 edges from 0 to 4.
    """
    n = len(batch)
    position = (2 - 2 * batch.cosine()).clamp(0, 4) * (bins / 4)
    lower = position.detach().nan_to_num().floor().clamp_max(bins - 1).long()
    upper_share = (position - lower).masked_fill(~(batch.positive | batch.negative), 0.0)
    lower_share = (batch.positive | batch.negative).to(position.dtype) - upper_share
    # One row of edges for positives, one for negatives; each pair adds to its own.
    edge = lower + (bins + 1) * batch.negative
    shares = position.new_zeros(n, 2 * (bins + 1)).scatter_add(1, edge, lower_share)
    positives, missed = shares.scatter_add(1, edge + 1, upper_share).view(n, 2, bins + 1).unbind(dim=1)
    recalled, seen = positives.cumsum(dim=1), (positives + missed).cumsum(dim=1)
    precision = recalled / seen.masked_fill(seen <= 0, 1.0)
    total, count = (positives * precision).sum(dim=1), batch.positive.sum(dim=1).clamp_min(1)

    def numbers() -> Numbers:
        return {"|P|": count, r"\sum_k h_k^+ H_k^+/H_k": total}

    return Terms(1 - total / count, batch.positive.any(dim=1), reduction, smooth=True, numbers=numbers)
