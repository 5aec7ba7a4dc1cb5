"""Losses on classes as clusters: images against class means."""

import torch
from jaxtyping import Float
from torch import Tensor

from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import register_loss
from dmlviz.losses.terms import Numbers, Terms
from dmlviz.ops.pairwise import cross_distance, distance_matrix
from dmlviz.ops.reductions import masked_max, masked_min


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
