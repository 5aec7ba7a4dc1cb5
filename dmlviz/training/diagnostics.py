"""What goes wrong in a training, by name: noticed from its events, with what to try. Loads no torch."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.training.events import Event, Failed, Finished, Snapshot, Step

WINDOW_STEPS = 20  # batches that a statement about the loss rests on
COLLAPSE_RATIO = 0.05  # of the distance between classes that the untrained net gave them
MIN_EFFECTIVE_RANK = 1.3  # effective dimensions; a line has 1
LOSS_RISE_FACTOR = 3.0  # times the lowest mean loss so far
NORM_GROWTH_FACTOR = (
    100.0  # times the untrained net's norm; in few dimensions that is hundredths, and any learning is much
)
ROOM = 10.0  # margins for each class: as long as that the embeddings may well become
SHORT = 3.0  # margins: no class can be one apart from the others with less
OVERFIT_SPREAD_RATIO = (
    2.5  # how much wider classes are on test images than in the batches, each in units of their distance
)
OVERFIT_P1_DROP = 0.02  # P@1 below its best


@dataclass(frozen=True)
class Suggestion:
    """What to try: `label` says it, `changes` are the settings that do it."""

    label: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Alarm:
    """`name` is the failure's, `sentence` says what is seen and what it means."""

    name: str
    message: str


@dataclass
class TrainingMonitor:
    """Takes the events of a training in turn and says which alarms go on and off."""

    config: TrainConfig
    active: set[str] = field(default_factory=set)
    initial_metrics: Mapping[str, float] = field(default_factory=dict)
    best: float = 0.0
    first_loss: float | None = None
    lowest_loss: float = float("inf")
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=WINDOW_STEPS))
    norms: deque[float] = field(default_factory=lambda: deque(maxlen=3))

    def update(self, event: Event) -> tuple[list[Alarm], list[str]]:
        """The alarms that this event sets off, and the names of those that it ends."""
        found: dict[str, Alarm | None] = {}
        if isinstance(event, Step):
            self.steps.append(event)
            found = {"idle": self._idle(), "diverging": self._diverging()}
        elif isinstance(event, Failed):
            found = {"diverging": Alarm("diverging", f"The training diverged at step {event.step:,}.")}
        elif isinstance(event, Snapshot | Finished):
            metrics = event.metrics
            self.initial_metrics = self.initial_metrics or metrics
            self.best = max(self.best, metrics.get("precision_at_1", 0.0))
            self.norms.append(metrics.get("mean_norm", float("nan")))
            if event.step:
                found = {
                    "collapsed": self._collapsed(metrics),
                    "exploding": self._exploding(),
                    "overfitting": self._overfitting(metrics),
                }
        raised = [alarm for name, alarm in found.items() if alarm is not None and name not in self.active]
        over = [name for name, alarm in found.items() if alarm is None and name in self.active]
        self.active = self.active.union(alarm.name for alarm in raised).difference(over)
        return raised, over

    def _idle(self) -> Alarm | None:
        if len(self.steps) < WINDOW_STEPS or max(step.active_fraction for step in self.steps) > 0:
            return None
        return Alarm(
            "idle",
            f"The loss sees nothing: not one of its terms was active in the last {WINDOW_STEPS} batches, so nothing is "
            "learned from here on.",
        )

    def _diverging(self) -> Alarm | None:
        losses = [step.loss for step in self.steps]
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
            f"The loss rises: its mean over {WINDOW_STEPS} batches is {mean:.3g}, after {self.first_loss:.3g} in the "
            "first batch.",
        )

    def _collapsed(self, metrics: Mapping[str, float]) -> Alarm | None:
        apart = metrics.get("mean_negative_distance", float("nan"))
        before = self.initial_metrics.get("mean_negative_distance", float("nan"))
        if metrics.get("collapsed") == 1 or apart <= COLLAPSE_RATIO * before:
            return Alarm(
                "collapsed",
                f"The space has collapsed: images of different classes are only {apart:.2g} apart, after {before:.2g} "
                "before training. All lie in nearly one place.",
            )
        rank = metrics.get("effective_rank", float("nan"))
        if self.config.embedding_dim > 2 and rank < MIN_EFFECTIVE_RANK:
            return Alarm(
                "collapsed",
                f"The space has collapsed to a line: of {self.config.embedding_dim} dimensions {rank:.1f} are used.",
            )
        return None

    def _exploding(self) -> Alarm | None:
        """Beyond what the loss may ask for, or on the way there: doubled at one snapshot and again at the next."""
        now, before = self.norms[-1], self.initial_metrics.get("mean_norm", float("nan"))
        if not now > NORM_GROWTH_FACTOR * before:
            return None
        unit = _unit(self.config)
        beyond = now > ROOM * len(self.config.train_classes) * unit
        doubling = len(self.norms) == 3 and now > 2 * self.norms[1] > 4 * self.norms[0] and now > SHORT * unit
        growing = doubling or ("exploding" in self.active and now > self.norms[-2])
        if not (beyond or growing):
            return None
        how = "far beyond what the loss asks for" if beyond else "and growing on"
        return Alarm(
            "exploding",
            f"The embeddings explode: their mean length is {now:.3g}, after {before:.2g} before training, {how}.",
        )

    def _overfitting(self, metrics: Mapping[str, float]) -> Alarm | None:
        if len(self.steps) < WINDOW_STEPS:
            return None
        here = _within_between_ratio(metrics.get("mean_positive_distance"), metrics.get("mean_negative_distance"))
        positive = sum(step.positive_distance for step in self.steps)
        there = _within_between_ratio(positive, sum(step.negative_distance for step in self.steps))
        score = metrics.get("precision_at_1", float("nan"))
        if not (here > OVERFIT_SPREAD_RATIO * there and score < self.best - OVERFIT_P1_DROP):
            return None
        return Alarm(
            "overfitting",
            f"It learns its images by heart: classes are {here / there:.1f} times as wide on test images as in the "
            f"batches, and P@1 has fallen from {self.best:.3f} to {score:.3f}.",
        )


def _unit(config: TrainConfig) -> float:
    """The length in which the loss thinks: its margin, or its root, as that of squared distances is; else 1."""
    margin = config.loss_params.get("margin")
    return float(max(margin, margin**0.5)) if isinstance(margin, int | float) and margin > 0 else 1.0


def _within_between_ratio(within: float | None, between: float | None) -> float:
    """How wide classes are in units of their distance; NaN where that is not known."""
    return within / between if within is not None and between else float("nan")


def suggestions(name: str, config: TrainConfig) -> list[Suggestion]:
    """What to try against an alarm of that name, the likeliest first; only what makes a valid config."""
    return [remedy for remedy in SUGGESTIONS[name](config) if _is_valid(remedy, config)]


def _is_valid(remedy: Suggestion, config: TrainConfig) -> bool:
    try:
        return config.replace(**remedy.changes) != config
    except UserError:
        return False


def _against_collapse(config: TrainConfig) -> list[Suggestion]:
    return [*_margin(config, 1.0), *_easier_miner(config), _lower_learning_rate(config, 10)]


def _for_inactive_loss(config: TrainConfig) -> list[Suggestion]:
    return [
        *_harder_miner(config),
        *_margin(config, 2.0),
        Suggestion("fewer steps", {"steps": max(50, config.steps // 2)}),
    ]


def _against_divergence(config: TrainConfig) -> list[Suggestion]:
    return [_lower_learning_rate(config, 10), Suggestion("embeddings on the sphere", {"normalize": True})]


def _against_explosion(config: TrainConfig) -> list[Suggestion]:
    return [Suggestion("embeddings on the sphere", {"normalize": True}), _lower_learning_rate(config, 10)]


def _against_overfitting(config: TrainConfig) -> list[Suggestion]:
    return [
        Suggestion("all training images", {"max_train_images": None}),
        Suggestion("fewer steps", {"steps": max(50, config.steps // 2)}),
        Suggestion("weight decay of 0.001", {"weight_decay": 1e-3}),
    ]


SUGGESTIONS: dict[str, Callable[[TrainConfig], list[Suggestion]]] = {
    "collapsed": _against_collapse,
    "idle": _for_inactive_loss,
    "diverging": _against_divergence,
    "exploding": _against_explosion,
    "overfitting": _against_overfitting,
}


def _lower_learning_rate(config: TrainConfig, times: int) -> Suggestion:
    rate = config.learning_rate / times
    return Suggestion(f"a learning rate of {rate:g}", {"learning_rate": rate})


def _margin(config: TrainConfig, times: float) -> list[Suggestion]:
    """The margin that is usual, or `times` as large where it has that already."""
    for parameter in LOSSES[config.loss].parameters:
        now = config.loss_params.get(parameter.name)
        if parameter.name != "margin" or not isinstance(now, int | float):
            continue
        if not isinstance(parameter.default, int | float):
            continue
        margin = parameter.default if now < parameter.default else times * now
        words = f"a margin of {margin:g}"
        return [Suggestion(words, {"loss_params": dict(config.loss_params) | {parameter.name: margin}})]
    return []


def _easier_miner(config: TrainConfig) -> list[Suggestion]:
    return _miner(config, "collapsed")


def _harder_miner(config: TrainConfig) -> list[Suggestion]:
    return _miner(config, "idle")


def _miner(config: TrainConfig, alarm: str) -> list[Suggestion]:
    takes = LOSSES[config.loss].for_params(config.loss_params).tuple_kinds
    remedies = [
        name
        for kind in ("triplets", "pairs")
        for name, miner in MINERS.items()
        if (miner.remedy_for, miner.tuple_kind) == (alarm, kind)
    ]
    fitting = [name for name in remedies if MINERS[name].tuple_kind in takes and name != config.miner]
    words = {name: f"{MINERS[name].title.lower().replace(',', '')} mining" for name in fitting}
    return [Suggestion(words[name], {"miner": name}) for name in fitting[:1]]
