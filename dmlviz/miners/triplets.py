"""Miners that select triplets: a negative for every ordered positive pair (a, p), or one triplet per anchor."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmlviz.miners.base import MinerBatch, implements
from dmlviz.miners.tuples import Triplets, fixed_triplets
from dmlviz.ops.fixed_path import on_fixed_path
from dmlviz.ops.sorted_negatives import PairTable, SortedNegatives, finite, pair_table, sort_negatives


@implements("random_negative")
def random_negative(batch: MinerBatch) -> Triplets:
    """Select one random negative for each positive pair."""
    count = batch.negative.sum(1)
    start = count.cumsum(0) - count
    _, negatives = batch.negative.nonzero(as_tuple=True)
    a, p = _with_negative(batch)
    return Triplets(a, p, negatives[start[a] + batch.randint_below(count[a])])


@implements("hardest_negative")
def hardest_negative(batch: MinerBatch, *, distance: str) -> Triplets:
    """Select the closest negative for each positive pair."""
    a, p = _with_negative(batch)
    return Triplets(a, p, _nearest(batch.distances(distance), batch.negative)[a])


@implements("random_hard_negative")
def random_hard_negative(batch: MinerBatch, *, margin: float, distance: str) -> Triplets:
    """Select, for each positive pair that has one, a random negative closer than the positive plus the margin."""
    pairs, positive, ranking = _rank(batch, distance)
    end = pairs.flat(ranking.count_closer(positive + margin))
    return _draw(batch, pairs, ranking, torch.zeros_like(end), end)


@implements("semihard_random")
def semihard_random(batch: MinerBatch, *, margin: float, distance: str) -> Triplets:
    """Select, for each positive pair that has one, a random negative farther by less than the margin."""
    pairs, positive, ranking = _rank(batch, distance)
    start, end = ranking.count_at_most(positive), ranking.count_closer(positive + margin)
    return _draw(batch, pairs, ranking, pairs.flat(start), pairs.flat(end))


@implements("semihard_nearest")
def semihard_nearest(batch: MinerBatch, *, distance: str) -> Triplets:
    """Select the closest negative that is farther than the positive; where there is none, the farthest."""
    pairs, positive, ranking = _rank(batch, distance)
    nearest = pairs.flat(ranking.count_at_most(positive))
    has_negative = ranking.count[pairs.a] > 0
    a, p = pairs.a[has_negative], pairs.p[has_negative]
    return Triplets(a, p, ranking.index[a, torch.minimum(nearest[has_negative], ranking.count[a] - 1)])


@implements("batch_hard")
def batch_hard(batch: MinerBatch, *, distance: str) -> Triplets:
    """Select, for each anchor, its farthest positive and its closest negative."""
    distances = batch.distances(distance)
    a = _complete_anchors(batch)
    return Triplets(a, _nearest(-distances, batch.positive)[a], _nearest(distances, batch.negative)[a])


@implements("easy_positive")
def easy_positive(batch: MinerBatch, *, distance: str) -> Triplets:
    """Select, for each anchor, its closest positive and its closest negative."""
    distances = batch.distances(distance)
    a = _complete_anchors(batch)
    return Triplets(a, _nearest(distances, batch.positive)[a], _nearest(distances, batch.negative)[a])


@implements("distance_weighted")
def distance_weighted(batch: MinerBatch, *, cutoff: float, nonzero_cutoff: float) -> Triplets:
    """Select, for each positive pair, a negative with probability ∝ 1 / density of its distance on the unit sphere.

    Distances below `cutoff` count as `cutoff`. An anchor without a negative nearer than `nonzero_cutoff` is skipped.

    Reference:
        Wu et al. 2017, section 4.
    """
    distances = (2 - 2 * batch.cosine().double()).clamp(min=0).sqrt()
    candidate = batch.negative & (distances < nonzero_cutoff)
    density = _log_density(distances.clamp(min=cutoff), batch.embeddings.shape[1]).masked_fill(~candidate, torch.inf)
    # Densities span hundreds of decades: the likeliest candidate of each row gets weight 1.
    least = density.amin(1, keepdim=True) if len(density) else density
    cumulative = (least - density).exp().masked_fill(~candidate, 0).cumsum(1)
    some = candidate.any(1)
    pairs = pair_table(batch.positive if on_fixed_path() else batch.positive & some[:, None])
    thresholds = pairs.table(1 - batch.rand(len(pairs.a)), 1.0) * cumulative[:, -1:]
    negatives = pairs.flat(torch.searchsorted(cumulative, thresholds))
    if on_fixed_path():
        return fixed_triplets(pairs.a, pairs.p, negatives.clamp(max=len(some) - 1), some[pairs.a])
    return Triplets(pairs.a, pairs.p, negatives)


def _log_density(distances: Float[Tensor, "n columns"], dimensions: int) -> Float[Tensor, "n columns"]:
    opposite = (1 - distances.square() / 4).clamp(min=1e-9)  # below 3 dimensions the density has a pole here
    return (dimensions - 2) * distances.log() + (dimensions - 3) / 2 * opposite.log()


def _rank(batch: MinerBatch, distance: str) -> tuple[PairTable, Float[Tensor, "n width"], SortedNegatives]:
    distances = batch.distances(distance)
    pairs = pair_table(batch.positive)
    return pairs, pairs.table(distances[pairs.a, pairs.p], torch.inf), sort_negatives(distances, batch.negative)


def _draw(batch: MinerBatch, pairs: PairTable, ranking: SortedNegatives, start: Tensor, end: Tensor) -> Triplets:
    has_candidate = end > start
    if on_fixed_path():
        drawn = start + batch.randint_below((end - start).clamp(min=0))
        return fixed_triplets(pairs.a, pairs.p, ranking.index[pairs.a, drawn], has_candidate)
    a, p, start, end = (values[has_candidate] for values in (pairs.a, pairs.p, start, end))
    return Triplets(a, p, ranking.index[a, start + batch.randint_below(end - start)])


def _with_negative(batch: MinerBatch) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
    a, p = batch.positive_pairs
    has_negative = batch.negative.any(1)[a]
    return a[has_negative], p[has_negative]


def _complete_anchors(batch: MinerBatch) -> Int[Tensor, " anchors"]:
    return (batch.positive.any(1) & batch.negative.any(1)).nonzero().squeeze(1)


def _nearest(distances: Float[Tensor, "n columns"], mask: Tensor) -> Int[Tensor, " n"]:
    if not len(distances):
        return torch.empty(0, dtype=torch.int64, device=distances.device)
    return finite(distances).masked_fill_(~mask, torch.inf).argmin(1)
