"""Losses on the structure of a batch: each anchor or positive pair against all its negatives at once."""

from dmlviz.geometry import masked_logsumexp, softplus
from dmlviz.losses.module import Batch, Terms
from dmlviz.losses.registry import loss


@loss("nt_xent")
def nt_xent(batch: Batch, *, temperature: float, reduction: str) -> Terms:
    """log(1 + Σ_N e^{(s_an − s_ap)/τ}) for each ordered positive pair (van den Oord 2018, Chen et al. 2020)."""
    s = batch.cosine() / temperature
    negatives = masked_logsumexp(s, batch.negative)
    return Terms(softplus(negatives[:, None] - s), batch.positive, reduction, smooth=True)
