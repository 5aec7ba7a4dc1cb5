"""Detects failing trainings from their events. Imports no torch."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.training.events import Event, Failed, Finished, Snapshot, Started, Step

WINDOW_STEPS = 20  # batches that an alarm about the loss is based on
COLLAPSE_RATIO = 0.05  # of the untrained net's mean distance between classes
MIN_EFFECTIVE_RANK = 1.3  # a line has 1
LOSS_RISE_FACTOR = 3.0  # times the lowest mean loss so far
# Times the untrained net's mean norm. In few dimensions that is about 0.01, and normal training exceeds the factor.
NORM_GROWTH_FACTOR = 100.0
MAX_MARGINS_PER_CLASS = 10.0  # norms up to so many margins per class are plausible
MIN_MARGINS = 3.0  # shorter embeddings cannot keep classes a margin apart
OVERFIT_SPREAD_RATIO = 2.5  # within-class / between-class distance, of validation images over training batches
OVERFIT_P1_DROP = 0.02  # P@1 below its best


@dataclass(frozen=True)
class Alarm:
    """A failure: its `name`, and a `message` with the evidence."""

    name: str
    message: str


@dataclass
class TrainingMonitor:
    """Tracks the events of a training and raises and clears alarms.

    Examples:
        >>> from dmlviz.training.events import Failed
        >>> monitor = TrainingMonitor(TrainConfig())
        >>> raised, cleared = monitor.update(Failed(step=7, reason=""))
        >>> raised[0].message
        'Training diverged at step 7.'
    """

    config: TrainConfig
    images: str = "test images"  # whose scores the alarms are based on
    active: set[str] = field(default_factory=set)
    initial_metrics: Mapping[str, float] = field(default_factory=dict)
    best: float = 0.0
    first_loss: float | None = None
    lowest_loss: float = float("inf")
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=WINDOW_STEPS))
    norms: deque[float] = field(default_factory=lambda: deque(maxlen=3))

    def update(self, event: Event) -> tuple[list[Alarm], list[str]]:
        """Process one event; return the alarms raised and the names of those cleared."""
        alarms: dict[str, Alarm | None] = {}
        if isinstance(event, Started):
            self.images = "validation images" if event.validation_images else "test images"
        elif isinstance(event, Step):
            self.steps.append(event)
            alarms = {"inactive": self._inactive(), "diverging": self._diverging()}
        elif isinstance(event, Failed) and event.diverged:
            alarms = {"diverging": Alarm("diverging", f"Training diverged at step {event.step:,}.")}
        elif isinstance(event, Snapshot | Finished):
            metrics = (isinstance(event, Finished) and event.validation_metrics) or event.metrics
            self.initial_metrics = self.initial_metrics or metrics
            self.best = max(self.best, metrics.get("precision_at_1", 0.0))
            self.norms.append(metrics.get("mean_norm", float("nan")))
            if event.step:
                alarms = {
                    "collapsed": self._collapse(metrics),
                    "exploding": self._exploding(),
                    "overfitting": self._overfitting(metrics),
                }
        new = [alarm for name, alarm in alarms.items() if alarm is not None and name not in self.active]
        over = [name for name, alarm in alarms.items() if alarm is None and name in self.active]
        self.active = self.active.union(alarm.name for alarm in new).difference(over)
        return new, over

    def _inactive(self) -> Alarm | None:
        # NaN, where the terms are not counted, is not 0.
        if len(self.steps) < WINDOW_STEPS or any(step.active != 0 for step in self.steps):
            return None
        return Alarm(
            "inactive",
            f"No active loss terms in the last {WINDOW_STEPS} batches: the gradient is zero.",
        )

    def _diverging(self) -> Alarm | None:
        losses = [step.loss for step in self.steps]
        if math.inf in losses:  # of a recording; a training of our own ends there
            step = next(step.step for step in self.steps if step.loss == math.inf)
            return Alarm("diverging", f"Training diverged at step {step:,}: its loss or its embeddings are not finite.")
        if self.first_loss is None:
            self.first_loss = losses[0]
        if len(losses) < WINDOW_STEPS:
            return None
        mean = sum(losses) / len(losses)
        self.lowest_loss = min(self.lowest_loss, mean)
        if mean <= LOSS_RISE_FACTOR * abs(self.lowest_loss) or mean <= 1.5 * abs(self.first_loss):
            return None
        return Alarm(
            "diverging",
            f"Loss is diverging: mean {mean:.3g} over the {WINDOW_STEPS} batches up to step {self.steps[-1].step:,}, "
            f"{self.first_loss:.3g} in the first.",
        )

    def _collapse(self, metrics: Mapping[str, float]) -> Alarm | None:
        between = metrics.get("mean_negative_distance", float("nan"))
        before = self.initial_metrics.get("mean_negative_distance", float("nan"))
        rank, dimensions = metrics.get("effective_rank", float("nan")), self.config.embedding_dim
        is_collapsed = metrics.get("collapsed") == 1
        is_line = dimensions > 1 and len(self.config.train_classes) > 2 and 0 < rank < MIN_EFFECTIVE_RANK
        if between <= COLLAPSE_RATIO * before or (is_collapsed and not is_line):
            return Alarm(
                "collapsed",
                f"Embeddings have collapsed to a point: mean distance between classes {between:.2g}; {before:.2g} "
                "before training.",
            )
        if is_line and (is_collapsed or dimensions > 2):
            return Alarm(
                "collapsed", f"Embeddings have collapsed to a line: effective rank {rank:.1f} of {dimensions}."
            )
        return None

    def _exploding(self) -> Alarm | None:
        """Check for norms beyond any plausible value, or doubling from snapshot to snapshot."""
        now, before = self.norms[-1], self.initial_metrics.get("mean_norm", float("nan"))
        if not now > NORM_GROWTH_FACTOR * before:
            return None
        unit = _margin_scale(self.config)
        is_margin_known = DATASETS[self.config.dataset].trainable
        beyond = is_margin_known and now > MAX_MARGINS_PER_CLASS * len(self.config.train_classes) * unit
        doubling = len(self.norms) == 3 and now > 2 * self.norms[1] > 4 * self.norms[0] and now > MIN_MARGINS * unit
        growing = doubling or ("exploding" in self.active and now > self.norms[-2])
        if not (beyond or growing):
            return None
        trend = "far beyond the margin of the loss" if beyond else "and still growing"
        return Alarm(
            "exploding",
            f"Embedding norms are exploding: mean {now:.3g}; {before:.2g} before training, {trend}.",
        )

    def _overfitting(self, metrics: Mapping[str, float]) -> Alarm | None:
        if len(self.steps) < WINDOW_STEPS:
            return None
        held_out = _within_between_ratio(metrics.get("mean_positive_distance"), metrics.get("mean_negative_distance"))
        positive = sum(step.positive_distance for step in self.steps)
        train_ratio = _within_between_ratio(positive, sum(step.negative_distance for step in self.steps))
        score = metrics.get("precision_at_1", float("nan"))
        if not (held_out > OVERFIT_SPREAD_RATIO * train_ratio and score < self.best - OVERFIT_P1_DROP):
            return None
        return Alarm(
            "overfitting",
            f"Overfitting: the within-class spread on {self.images} is {held_out / train_ratio:.1f} times that of "
            f"training batches, and their P@1 fell from {self.best:.3f} to {score:.3f}.",
        )


def _margin_scale(config: TrainConfig) -> float:
    """Return the margin of the loss, or its square root if larger (for squared distances); 1 without a margin."""
    margin = config.loss_params.get("margin")
    return float(max(margin, margin**0.5)) if isinstance(margin, int | float) and margin > 0 else 1.0


def _within_between_ratio(within: float | None, between: float | None) -> float:
    """Return the ratio of within-class to between-class distance; NaN if unknown."""
    return within / between if within is not None and between else float("nan")
