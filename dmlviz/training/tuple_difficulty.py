"""Tuples that a loss compares in a batch (pairs, triplets, or images with classes), and their difficulty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.pair_thresholds import PairThresholds
from dmlviz.catalog.parameters import LossSpec
from dmlviz.config import TrainConfig
from dmlviz.ops.pairwise_numpy import distances
from dmlviz.training.batch_record import BatchRecord

EASY, SEMI_HARD, HARD = range(3)
LISTED = 12_800  # comparisons that are listed one by one; all of them are counted
OF_AN_ANCHOR = 4  # of each kind, where a loss sees every triplet of the batch


@dataclass(frozen=True, kw_only=True)
class MinedTuples:
    """Tuples of a batch with their difficulty.

    Attributes:
        kind: Pairs, triplets, or images with classes.
        source: "selection" (by a miner or sampler), "all" (the loss uses every one), "nearest" (each positive pair
            with its nearest negative), "hardest" (the hardest triplet of each image), "classes".
        indices: k × 2 for pairs; k × 3 for triplets, and for image, its class, strongest other class.
        difficulty: EASY, SEMI_HARD or HARD for each row (k).
        counts: Number of easy, semi-hard and hard tuples, listed or not.
        thresholds: Distance thresholds of the loss.
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
    in_ball: bool = False

    @classmethod
    def from_config(cls, config: TrainConfig, batch: BatchRecord) -> "ComparingLoss":
        """Return the loss of a config; of a weighted sum that which takes the batch's tuples, or sees its features."""
        parts = config.class_losses
        if not parts:
            return cls(config.loss, config.loss_params, batch.loss_weights, config.ball > 0)
        kind = "pairs" if batch.pairs is not None else "triplets" if batch.triplets is not None else None
        side = next((side for side, (name, _) in parts.items() if kind in LOSSES[name].tuple_kinds), "a")
        if config.bn_neck:  # recorded is what enters it
            side = next(side for side, (name, _) in parts.items() if LOSSES[name].needs_pairs)
        name, params = parts[side]
        own = {key[2:]: value for key, value in batch.loss_weights.items() if key.startswith(f"{side}.")}
        return cls(name, params, own, config.ball > 0)

    @property
    def spec(self) -> LossSpec:
        """The declaration of the loss."""
        return LOSSES[self.name]

    @property
    def thresholds(self) -> PairThresholds:
        """The distances from which on its terms are 0; in a ball what compares cosines elsewhere compares distances."""
        found = self.spec.thresholds_for(self.params, self.learned)
        return replace(found, measure="euclidean") if self.in_ball and found.measure == "cosine" else found


def classify_tuples(config: TrainConfig, batch: BatchRecord) -> MinedTuples:
    """Return the comparisons of the run's loss in this batch."""
    seer = ComparingLoss.from_config(config, batch)
    space = _BatchDistances(batch, batch.compared_labels(config), seer.thresholds)
    if batch.triplets is not None:
        return space.listed_triplets(batch.triplets, "selection")
    if batch.pairs is not None:
        return space.pairs(batch.pairs if batch.is_anchored else np.triu(batch.pairs), "selection")
    if seer.spec.compares == "triplets":
        return space.every_triplet()
    if seer.spec.compares == "positive_pairs":
        return space.listed_triplets(space.nearest(), "nearest")
    if seer.spec.compares == "pairs":
        return space.pairs(np.triu(np.ones((len(batch.labels),) * 2, bool), 1), "all")
    scores = class_scores(seer, batch, config.train_classes)
    if scores is None:
        return space.listed_triplets(space.hard(), "hardest")
    return space.classes(scores, batch.loss_per_image, np.array(config.train_classes))


class _BatchDistances:
    """The distances of a batch, as its loss measures them."""

    def __init__(self, batch: BatchRecord, labels: np.ndarray, reach: PairThresholds) -> None:
        self.labels, self.reach = labels, reach
        self.d = distances(batch.embeddings_before, reach.measure)
        same = labels[:, None] == labels
        self.negative, self.positive = ~same, same & ~np.eye(len(same), dtype=bool)

    def pairs(self, mask: np.ndarray, by: Literal["selection", "all"]) -> MinedTuples:
        hardness = self._of_pairs()
        rows = np.argwhere(mask)
        return self._summary("pairs", by, rows, hardness[rows[:, 0], rows[:, 1]])

    def listed_triplets(self, rows: np.ndarray, by: Literal["selection", "nearest", "hardest"]) -> MinedTuples:
        a, p, n = rows.reshape(-1, 3).T
        return self._summary("triplets", by, rows, self._hardness(self.d[a, p], self.d[a, n]))

    def every_triplet(self) -> MinedTuples:
        """Count all triplets, and list a few of each kind for each anchor."""
        counts, rows = np.zeros(3, np.int64), []
        random = np.random.default_rng(0)
        for a in range(len(self.d)):
            p, n = np.flatnonzero(self.positive[a]), np.flatnonzero(self.negative[a])
            hardness = self._hardness(self.d[a, p][:, None], self.d[a, n])
            for kind in (EASY, SEMI_HARD, HARD):
                i, j = np.nonzero(hardness == kind)
                counts[kind] += len(i)
                some = random.permutation(len(i))[:OF_AN_ANCHOR]
                rows += [(a, p[row], n[column], kind) for row, column in zip(i[some], j[some], strict=True)]
        table = np.array(rows, np.int64).reshape(-1, 4)
        easy, semi_hard, hard = counts.tolist()
        return MinedTuples(
            kind="triplets",
            source="all",
            indices=table[:, :3],
            difficulty=table[:, 3].astype(np.uint8),
            counts=(easy, semi_hard, hard),
            thresholds=self.reach,
        )

    def nearest(self) -> np.ndarray:
        """Return every ordered positive pair with its anchor's nearest negative (k × 3)."""
        a, p = np.nonzero(self.positive & self.negative.any(axis=1, keepdims=True))
        return np.stack([a, p, self._nearest_negative()[a]], axis=1)

    def hard(self) -> np.ndarray:
        """Return each image with its farthest positive and its nearest negative (k × 3)."""
        a = np.flatnonzero(self.positive.any(axis=1) & self.negative.any(axis=1))
        farthest = np.where(self.positive, self.d, -np.inf).argmax(axis=1) if len(self.d) else a
        return np.stack([a, farthest[a], self._nearest_negative()[a]], axis=1)

    def classes(self, scores: np.ndarray, terms: np.ndarray | None, names: np.ndarray) -> MinedTuples:
        """Return each image with its class and the best-scored other class; easy where its term is below 0.01."""
        images, column = np.arange(len(self.labels)), np.searchsorted(names, self.labels)
        own = scores[images, column]
        others = scores.copy()
        others[images, column] = -np.inf
        other = others.argmax(axis=1)
        if terms is None:
            largest = scores.max(axis=1)
            terms = np.log(np.exp(scores - largest[:, None]).sum(axis=1)) + largest - own
        hardness = np.where(others[images, other] >= own, HARD, np.where(terms > 0.01, SEMI_HARD, EASY))
        return self._summary("classes", "classes", np.stack([images, self.labels, names[other]], axis=1), hardness)

    def _hardness(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Return hard where the negative is no farther than the positive, semi-hard where by less than the gap."""
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

    def _summary(self, kind: Any, by: Any, rows: np.ndarray, hardness: np.ndarray) -> MinedTuples:
        easy, semi_hard, hard = np.bincount(hardness.astype(np.int64), minlength=3).tolist()
        sample = np.linspace(0, max(0, len(rows) - 1), min(len(rows), LISTED)).round().astype(int)
        return MinedTuples(
            kind=kind,
            source=by,
            indices=rows[sample],
            difficulty=hardness[sample].astype(np.uint8),
            counts=(easy, semi_hard, hard),
            thresholds=self.reach,
        )


def class_scores(seer: ComparingLoss, batch: BatchRecord, classes: Sequence[int]) -> np.ndarray | None:
    """Return the score of each image for each of `classes` (n × classes) before any margin; None without scores."""
    if seer.spec.compares != "classes" or (seer.spec.needs_classes and "weight" not in seer.learned):
        return None
    return seer.spec.class_scores(batch.embeddings_before, batch.labels, classes, seer.params, seer.learned)
