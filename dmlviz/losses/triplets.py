"""Losses on triplets: an anchor nearer to its positive than to its negative."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from dmlviz.losses import all_triplets
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import register_loss
from dmlviz.losses.terms import Numbers, SummedTerms, Terms
from dmlviz.miners.tuples import Triplets
from dmlviz.ops.pairwise import cross_distance, distance_matrix
from dmlviz.ops.reductions import masked_max, masked_min, softplus


@register_loss("triplet")
def triplet(batch: LossBatch, *, margin: float, distance: str, reduction: str) -> Terms | SummedTerms:
    """[m + d_ap − d_an]₊ (Weinberger, Saul 2009; Schroff et al. 2015); over all triplets where no miner listed some."""
    d = batch.distances(distance)
    if isinstance(batch.listed, Triplets):
        near, far = _mined_distances(d, batch.listed)
        return _terms((margin + near - far).relu(), batch.kept, reduction, lambda: _numbers(near, far, margin))
    return all_triplets.hinge_sum(batch, d + margin, d, reduction)


@register_loss("triplet_ratio")
def triplet_ratio(batch: LossBatch, *, margin: float, distance: str, reduction: str) -> Terms | SummedTerms:
    """[1 − d_an / (m + d_ap)]₊ (Wohlhart, Lepetit 2015)."""
    d = batch.distances(distance)
    if isinstance(batch.listed, Triplets):
        near, far = _mined_distances(d, batch.listed)
        return _terms((1 - far / (margin + near)).relu(), batch.kept, reduction, lambda: _numbers(near, far, margin))
    return all_triplets.hinge_sum(batch, d + margin, d, reduction, weights=1 / (d + margin))


@register_loss("triplet_two_terms")
def triplet_two_terms(batch: LossBatch, *, margin: float, distance: str, reduction: str) -> Terms | SummedTerms:
    """d_ap + [m − d_an]₊: the terms of the contrastive loss, over all triplets where no miner listed some."""
    d = batch.distances(distance)
    if isinstance(batch.listed, Triplets):
        near, far = _mined_distances(d, batch.listed)
        return _terms(near + (margin - far).relu(), batch.kept, reduction, lambda: _numbers(near, far, margin))
    return all_triplets.sum_of_sides(batch, d, (margin - d).relu(), reduction)


@register_loss("triplet_soft")
def triplet_soft(batch: LossBatch, *, distance: str, reduction: str) -> Terms | SummedTerms:
    """log(1 + e^{d_ap − d_an}) (Hermans et al. 2017)."""
    d = batch.distances(distance)
    if isinstance(batch.listed, Triplets):
        near, far = _mined_distances(d, batch.listed)
        return _terms(softplus(near - far), batch.kept, reduction, lambda: _numbers(near, far), smooth=True)
    return all_triplets.softplus_sum(batch, d, reduction)


@register_loss("batch_hard")
def batch_hard(batch: LossBatch, *, margin: float | str, distance: str, reduction: str) -> Terms:
    """[m + max_P d − min_N d]₊ for each anchor, or its soft form log(1 + e^…) (Hermans et al. 2017)."""
    if not len(batch):
        return Terms(batch.x.sum(1), None, reduction)
    d = batch.distances(distance)
    farthest, nearest = masked_max(d, batch.positive), masked_min(d, batch.negative)

    def numbers() -> Numbers:
        margins = {} if isinstance(margin, str) else {"m": margin}
        return {r"\max_p d_{ap}": farthest, r"\min_n d_{an}": nearest, **margins}

    if isinstance(margin, str):
        return Terms(softplus(farthest - nearest), batch.has_both, reduction, smooth=True, numbers=numbers)
    return Terms((farthest - nearest + margin).relu(), batch.has_both, reduction, numbers=numbers)


@register_loss("angular")
def angular(batch: LossBatch, *, alpha: float, reduction: str) -> Terms:
    """log(1 + Σ_N exp(4tan²α (f_a + f_p)·f_n − 2(1 + tan²α) f_a·f_p)), on the unit sphere (Wang et al. 2017).

    One term for each ordered positive pair, with all its negatives, or with those that a miner listed for it.
    """
    s, tangent = batch.cosine(), math.tan(math.radians(alpha)) ** 2
    together = torch.exp(-2 * (1 + tangent) * s)
    apart = torch.exp(4 * tangent * s)  # α ≤ 60° keeps every product within e^±32
    if isinstance(batch.listed, Triplets):
        a, p, n = batch.listed
        kept = torch.ones_like(s[a, p]) if batch.kept is None else batch.kept.to(s.dtype)
        sums = torch.zeros_like(s).index_put((a, p), kept * apart[a, n] * apart[p, n], accumulate=True)
        counts = torch.zeros_like(s).index_put((a, p), kept, accumulate=True) > 0
    else:
        # The negatives of a pair are those of its class: the sum over them is one matrix product.
        apart = apart.masked_fill(~batch.negative, 0.0)
        sums, counts = apart @ apart.T, batch.positive & batch.has_both[:, None]
    return Terms(
        torch.log1p(sums * together),
        counts,
        reduction,
        smooth=True,
        numbers=lambda: {
            "s_{ap}": s,
            r"\tan^2\alpha": tangent,
            r"\sum_n e^{4\tan^2\alpha\,(s_{an}+s_{pn})}": sums,
        },
    )


def _mined_distances(d: Tensor, triplets: Triplets) -> tuple[Tensor, Tensor]:
    rows = triplets.a * d.shape[1]
    both = d.flatten().index_select(0, torch.cat([rows + triplets.p, rows + triplets.n]))
    near, far = both.view(2, -1)
    return near, far


def _numbers(near: Tensor, far: Tensor, margin: float | None = None) -> Numbers:
    return {"d_{ap}": near, "d_{an}": far} | ({} if margin is None else {"m": margin})


def _terms(
    values: Tensor, kept: Tensor | None, reduction: str, numbers: Callable[[], Numbers], smooth: bool = False
) -> Terms:
    return Terms(values, kept, reduction, smooth, numbers)


@register_loss("coupled_clusters")
def coupled_clusters(batch: LossBatch, *, margin: float, reduction: str) -> Terms:
    """[m + d(x_p, c_p) − d(x*, c_p)]₊ for each image, x* the negative nearest to the class mean (Liu et al. 2016)."""
    (index, member), (x, means) = batch.classes, _class_means(batch)
    d = cross_distance(x, means)
    own = d.gather(1, index[:, None]).squeeze(1)
    nearest_negative = masked_min(d, ~member, dim=0) if len(batch) else own
    other = nearest_negative[index]

    def numbers() -> Numbers:
        return {r"d(f_a,\bar f_y)": own, r"\min_n d(f_n,\bar f_y)": other, "m": margin}

    return Terms((margin + own - other).relu(), batch.has_both, reduction, numbers=numbers)


@register_loss("hard_cluster")
def hard_cluster(batch: LossBatch, *, margin: float, reduction: str) -> Terms:
    """[max ‖x − c‖² − min ‖c − c'‖² + m]₊ for each class of at least two images, c' the nearest other class mean."""
    (index, member), (x, means) = batch.classes, _class_means(batch)
    others = ~torch.eye(len(means), dtype=torch.bool, device=means.device) & member.any(dim=0)
    counts = (member.sum(dim=0) > 1) & others.any(dim=1)
    if not len(batch):
        return Terms(means.sum(dim=1), counts, reduction)
    widest = masked_max(cross_distance(x, means, "sqeuclidean"), member, dim=0)
    nearest = masked_min(distance_matrix(means, "sqeuclidean"), others)

    def numbers() -> Numbers:
        radius, gap = r"\max_{i\in c}\|f_i-\bar f_c\|^2", r"\min_{c'}\|\bar f_c-\bar f_{c'}\|^2"
        return {radius: widest, gap: nearest, "m": margin}

    return Terms((widest - nearest + margin).relu(), counts, reduction, numbers=numbers, term_of=index)


def _class_means(batch: LossBatch) -> tuple[Float[Tensor, "n d"], Float[Tensor, "classes d"]]:
    """Return the centered embeddings, and the class means."""
    _, member = batch.classes
    x = batch.x - batch.x.detach().mean(dim=0)  # means of far-off points would lose digits
    return x, member.to(x.dtype).T @ x / member.sum(dim=0).clamp(min=1)[:, None]
