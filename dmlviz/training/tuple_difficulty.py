"""Tuples that a loss compares in a batch (pairs, triplets, or images with classes), and their difficulty."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dmlviz.catalog.loss_thresholds import PairThresholds, distances, pair_thresholds
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.losses.sums import LossChoice
from dmlviz.config import TrainConfig
from dmlviz.training.batch_record import BatchRecord

EASY, SEMI_HARD, HARD = range(3)
LISTED = 12_800  # comparisons that are listed one by one; all of them are counted
OF_AN_ANCHOR = 4  # of each kind, where a loss sees every triplet of the batch

_ONE_A_PAIR = ("nt_xent", "tuple_hinge", "tuplet_margin", "lifted", "lifted_hard", "n_pairs")
_EVERY_TRIPLET = ("triplet", "triplet_ratio", "triplet_soft", "angular", "hierarchical_triplet")
_BY_ANCHOR = ("multi_similarity", "circle")  # pair losses that weigh an anchor's pairs together


@dataclass(frozen=True, kw_only=True)
class MinedTuples:
    """Tuples of a batch with their difficulty.

    Attributes:
        kind: pairs, triplets, or images with classes.
        source: "selection" (by a miner or sampler), "all" (the loss uses every one), "nearest" (each positive pair
            with its nearest negative), "hardest" (the hardest triplet of each image), "classes".
        indices: k × 2 for pairs; k × 3 for triplets, and for image, its class, strongest other class.
        difficulty: EASY, SEMI_HARD or HARD for each row (k).
        counts: number of easy, semi-hard and hard tuples, listed or not.
        thresholds: distance thresholds of the loss.
    """

    kind: Literal["pairs", "triplets", "classes"]
    source: Literal["selection", "all", "nearest", "hardest", "classes"]
    indices: np.ndarray = field(repr=False)
    difficulty: np.ndarray = field(repr=False)
    counts: tuple[int, int, int]
    thresholds: PairThresholds


@dataclass(frozen=True)
class ComparingLoss:
    """The loss that looks at a batch: its name, parameters and learned weights; of a sum, the part that compares."""

    name: str
    params: Mapping[str, Any]
    learned: Mapping[str, np.ndarray]

    @classmethod
    def from_config(cls, config: TrainConfig, batch: BatchRecord) -> "ComparingLoss":
        """Return the loss of a config; of a weighted sum the part that takes the batch's tuples."""
        if config.loss != "weighted_sum":
            return cls(config.loss, config.loss_params, batch.loss_weights)
        sides = {side: LossChoice.split(config.loss_params[side]) for side in ("a", "b")}
        kind = "pairs" if batch.pairs is not None else "triplets" if batch.triplets is not None else None
        side = next((side for side, (name, _) in sides.items() if kind in LOSSES[name].tuple_kinds), "a")
        name, params = sides[side]
        own = {key[2:]: value for key, value in batch.loss_weights.items() if key.startswith(f"{side}.")}
        return cls(name, LOSSES[name].with_defaults(params), own)


def classify_tuples(config: TrainConfig, batch: BatchRecord) -> MinedTuples:
    """What the run's loss compares in this batch."""
    seer = ComparingLoss.from_config(config, batch)
    space = _BatchDistances(batch, pair_thresholds(seer.name, seer.params, seer.learned))
    if batch.triplets is not None:
        return space.listed_triplets(batch.triplets, "selection")
    if batch.pairs is not None:
        return space.pairs(batch.pairs if batch.is_anchored else np.triu(batch.pairs), "selection")
    if seer.name in _EVERY_TRIPLET:
        return space.every_triplet()
    if seer.name in _ONE_A_PAIR:
        return space.listed_triplets(space.nearest(), "nearest")
    if LOSSES[seer.name].family == "pairs" and seer.name not in _BY_ANCHOR:
        return space.pairs(np.triu(np.ones((len(batch.labels),) * 2, bool), 1), "all")
    scores = class_scores(seer, batch, config.train_classes)
    if scores is None:
        return space.listed_triplets(space.hard(), "hardest")
    return space.classes(scores, batch.loss_per_image, np.array(config.train_classes))


class _BatchDistances:
    """The distances of a batch, as its loss measures them."""

    def __init__(self, batch: BatchRecord, reach: PairThresholds) -> None:
        self.labels, self.reach = batch.labels, reach
        self.d = distances(batch.embeddings_before, reach.measure)
        same = batch.labels[:, None] == batch.labels
        self.negative, self.positive = ~same, same & ~np.eye(len(same), dtype=bool)

    def pairs(self, chosen: np.ndarray, by: Literal["selection", "all"]) -> MinedTuples:
        hardness = self._of_pairs()
        rows = np.argwhere(chosen)
        return self._counted("pairs", by, rows, hardness[rows[:, 0], rows[:, 1]])

    def listed_triplets(self, rows: np.ndarray, by: Literal["selection", "nearest", "hardest"]) -> MinedTuples:
        a, p, n = rows.reshape(-1, 3).T
        return self._counted("triplets", by, rows, self._hardness(self.d[a, p], self.d[a, n]))

    def every_triplet(self) -> MinedTuples:
        """All are counted; of each anchor a few of each kind are listed."""
        counts, kept = np.zeros(3, np.int64), []
        random = np.random.default_rng(0)
        for a in range(len(self.d)):
            p, n = np.flatnonzero(self.positive[a]), np.flatnonzero(self.negative[a])
            hardness = self._hardness(self.d[a, p][:, None], self.d[a, n])
            for kind in (EASY, SEMI_HARD, HARD):
                i, j = np.nonzero(hardness == kind)
                counts[kind] += len(i)
                some = random.permutation(len(i))[:OF_AN_ANCHOR]
                kept += [(a, p[row], n[column], kind) for row, column in zip(i[some], j[some], strict=True)]
        listed = np.array(kept, np.int64).reshape(-1, 4)
        easy, semi_hard, hard = counts.tolist()
        return MinedTuples(
            kind="triplets",
            source="all",
            indices=listed[:, :3],
            difficulty=listed[:, 3].astype(np.uint8),
            counts=(easy, semi_hard, hard),
            thresholds=self.reach,
        )

    def nearest(self) -> np.ndarray:
        """Every ordered positive pair with its anchor's nearest negative (k × 3)."""
        a, p = np.nonzero(self.positive & self.negative.any(axis=1, keepdims=True))
        return np.stack([a, p, self._nearest_negative()[a]], axis=1)

    def hard(self) -> np.ndarray:
        """Each image with its farthest positive and its nearest negative (k × 3)."""
        a = np.flatnonzero(self.positive.any(axis=1) & self.negative.any(axis=1))
        farthest = np.where(self.positive, self.d, -np.inf).argmax(axis=1) if len(self.d) else a
        return np.stack([a, farthest[a], self._nearest_negative()[a]], axis=1)

    def classes(self, scores: np.ndarray, terms: np.ndarray | None, names: np.ndarray) -> MinedTuples:
        """Each image with its class and the other class of the highest score; easy where its term is below 0.01."""
        images, column = np.arange(len(self.labels)), np.searchsorted(names, self.labels)
        own = scores[images, column]
        others = scores.copy()
        others[images, column] = -np.inf
        other = others.argmax(axis=1)
        if terms is None:
            largest = scores.max(axis=1)
            terms = np.log(np.exp(scores - largest[:, None]).sum(axis=1)) + largest - own
        hardness = np.where(others[images, other] >= own, HARD, np.where(terms > 0.01, SEMI_HARD, EASY))
        return self._counted("classes", "classes", np.stack([images, self.labels, names[other]], axis=1), hardness)

    def _hardness(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Hard: the negative is no farther than the positive. Semi-hard: farther, but by less than the gap."""
        return np.where(far <= near, HARD, np.where(far < near + self.reach.margin, SEMI_HARD, EASY)).astype(np.uint8)

    def _of_pairs(self) -> np.ndarray:
        """Return the difficulty of all pairs (n × n): by the boundary of the loss, else as in its hardest triplet."""
        d, to = self.d, self.reach
        if to.positive_threshold is not None and to.decision_boundary is not None and to.negative_threshold is not None:
            positive = np.where(d > to.decision_boundary, HARD, np.where(d > to.positive_threshold, SEMI_HARD, EASY))
            negative = np.where(d < to.decision_boundary, HARD, np.where(d < to.negative_threshold, SEMI_HARD, EASY))
        else:
            nearest = np.where(self.negative, d, np.inf).min(axis=1, initial=np.inf, keepdims=True)
            farthest = np.where(self.positive, d, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
            positive, negative = self._hardness(d, nearest), self._hardness(farthest, d)
        return np.where(self.positive, positive, negative).astype(np.uint8)

    def _nearest_negative(self) -> np.ndarray:
        return np.where(self.negative, self.d, np.inf).argmin(axis=1) if len(self.d) else np.zeros(0, np.int64)

    def _counted(self, kind: Any, by: Any, rows: np.ndarray, hardness: np.ndarray) -> MinedTuples:
        easy, semi_hard, hard = np.bincount(hardness.astype(np.int64), minlength=3).tolist()
        kept = np.linspace(0, max(0, len(rows) - 1), min(len(rows), LISTED)).round().astype(int)
        return MinedTuples(
            kind=kind,
            source=by,
            indices=rows[kept],
            difficulty=hardness[kept].astype(np.uint8),
            counts=(easy, semi_hard, hard),
            thresholds=self.reach,
        )


def class_scores(seer: ComparingLoss, batch: BatchRecord, classes: Sequence[int]) -> np.ndarray | None:
    """How well each image goes with each of `classes` (n × classes) before any margin; None where there are none."""
    if seer.name == "prototypical":
        return _to_prototypes(batch, seer.params, classes)
    weight = seer.learned.get("weight")
    if weight is None or not LOSSES[seer.name].needs_classes:
        return None
    if "bias" in seer.learned:
        return np.asarray(batch.embeddings_before @ weight.T + seer.learned["bias"])
    cosine = 1 - distances(batch.embeddings_before, "cosine", weight)
    if seer.name == "soft_triple":
        cosine = cosine.reshape(len(cosine), -1, seer.params["centers"])
        share = np.exp((cosine - 1) / seer.params["gamma"])
        return np.asarray((share * cosine).sum(axis=2) / share.sum(axis=2))
    return cosine * np.linalg.norm(weight, axis=1) if seer.name == "large_margin_softmax" else cosine


def _to_prototypes(batch: BatchRecord, params: Mapping[str, Any], classes: Sequence[int]) -> np.ndarray:
    scores = np.full((len(batch.labels), len(classes)), -np.inf)
    for label, center in prototypes(batch, params["support"]):
        scores[:, np.searchsorted(classes, label)] = -distances(
            batch.embeddings_before, params["distance"], center[None]
        )[:, 0]
    return scores


def prototypes(batch: BatchRecord, support: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
    """Each class of the batch with the mean of its first `support` images (leaving one), of all when None."""
    for label in np.unique(batch.labels):
        members = np.flatnonzero(batch.labels == label)
        count = len(members) if support is None else max(1, min(support, len(members) - 1))
        yield int(label), batch.embeddings_before[members[:count]].mean(axis=0)
