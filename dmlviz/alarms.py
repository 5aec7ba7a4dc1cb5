"""What goes wrong in a training, by name: noticed from its events, with what to try. Loads no torch."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.events import Event, Failed, Finished, Snapshot, Step
from dmlviz.losses.declared import LOSSES
from dmlviz.miners.declared import MINERS

RECENT = 20  # batches that a statement about the loss rests on
COLLAPSED_TO = 0.05  # of the distance between classes that the untrained net gave them
FLAT_BELOW = 1.3  # effective dimensions; a line has 1
RISEN = 3.0  # times the lowest mean loss so far
GROWN = 100.0  # times the untrained net's norm; in few dimensions that is hundredths, and any learning is much
ROOM = 10.0  # margins for each class: as long as that the embeddings may well become
SHORT = 3.0  # margins: no class can be one apart from the others with less
GAP = 2.5  # how much wider classes are on test images than in the batches, each in units of their distance
FALLEN = 0.02  # P@1 below its best


@dataclass(frozen=True)
class Remedy:
    """What to try: `words` say it, `changes` are the settings that do it."""

    words: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Alarm:
    """`name` is the failure's, `sentence` says what is seen and what it means."""

    name: str
    sentence: str


@dataclass
class Watch:
    """Takes the events of a training in turn and says which alarms go on and off."""

    config: TrainConfig
    on: set[str] = field(default_factory=set)
    first: Mapping[str, float] = field(default_factory=dict)
    best: float = 0.0
    first_loss: float | None = None
    lowest_loss: float = float("inf")
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=RECENT))
    norms: deque[float] = field(default_factory=lambda: deque(maxlen=3))

    def take(self, event: Event) -> tuple[list[Alarm], list[str]]:
        """The alarms that this event sets off, and the names of those that it ends."""
        found: dict[str, Alarm | None] = {}
        if isinstance(event, Step):
            self.steps.append(event)
            found = {"idle": self._idle(), "diverging": self._diverging()}
        elif isinstance(event, Failed):
            found = {"diverging": Alarm("diverging", f"The training diverged at step {event.step:,}.")}
        elif isinstance(event, Snapshot | Finished):
            metrics = event.metrics
            self.first = self.first or metrics
            self.best = max(self.best, metrics.get("precision_at_1", 0.0))
            self.norms.append(metrics.get("mean_norm", float("nan")))
            if event.step:
                found = {
                    "collapsed": self._collapsed(metrics),
                    "exploding": self._exploding(),
                    "overfitting": self._overfitting(metrics),
                }
        raised = [alarm for name, alarm in found.items() if alarm is not None and name not in self.on]
        over = [name for name, alarm in found.items() if alarm is None and name in self.on]
        self.on = self.on.union(alarm.name for alarm in raised).difference(over)
        return raised, over

    def _idle(self) -> Alarm | None:
        if len(self.steps) < RECENT or max(step.active for step in self.steps) > 0:
            return None
        return Alarm(
            "idle",
            f"The loss sees nothing: not one of its terms was active in the last {RECENT} batches, so nothing is "
            "learned from here on.",
        )

    def _diverging(self) -> Alarm | None:
        losses = [step.loss for step in self.steps]
        if self.first_loss is None:
            self.first_loss = losses[0]
        if len(losses) < RECENT:
            return None
        mean = sum(losses) / len(losses)
        self.lowest_loss = min(self.lowest_loss, mean)
        if mean <= RISEN * abs(self.lowest_loss) or mean <= 1.5 * abs(self.first_loss):
            return None
        return Alarm(
            "diverging",
            f"The loss rises: its mean over {RECENT} batches is {mean:.3g}, after {self.first_loss:.3g} in the "
            "first batch.",
        )

    def _collapsed(self, metrics: Mapping[str, float]) -> Alarm | None:
        apart = metrics.get("mean_negative_distance", float("nan"))
        before = self.first.get("mean_negative_distance", float("nan"))
        if metrics.get("collapsed") == 1 or apart <= COLLAPSED_TO * before:
            return Alarm(
                "collapsed",
                f"The space has collapsed: images of different classes are only {apart:.2g} apart, after {before:.2g} "
                "before training. All lie in nearly one place.",
            )
        rank = metrics.get("effective_rank", float("nan"))
        if self.config.embedding_dim > 2 and rank < FLAT_BELOW:
            return Alarm(
                "collapsed",
                f"The space has collapsed to a line: of {self.config.embedding_dim} dimensions {rank:.1f} are used.",
            )
        return None

    def _exploding(self) -> Alarm | None:
        """Beyond what the loss may ask for, or on the way there: doubled at one snapshot and again at the next."""
        now, before = self.norms[-1], self.first.get("mean_norm", float("nan"))
        if not now > GROWN * before:
            return None
        unit = _unit(self.config)
        beyond = now > ROOM * len(self.config.seen_classes) * unit
        doubling = len(self.norms) == 3 and now > 2 * self.norms[1] > 4 * self.norms[0] and now > SHORT * unit
        growing = doubling or ("exploding" in self.on and now > self.norms[-2])
        if not (beyond or growing):
            return None
        how = "far beyond what the loss asks for" if beyond else "and growing on"
        return Alarm(
            "exploding",
            f"The embeddings explode: their mean length is {now:.3g}, after {before:.2g} before training, {how}.",
        )

    def _overfitting(self, metrics: Mapping[str, float]) -> Alarm | None:
        if len(self.steps) < RECENT:
            return None
        here = _spread(metrics.get("mean_positive_distance"), metrics.get("mean_negative_distance"))
        positive = sum(step.positive_distance for step in self.steps)
        there = _spread(positive, sum(step.negative_distance for step in self.steps))
        score = metrics.get("precision_at_1", float("nan"))
        if not (here > GAP * there and score < self.best - FALLEN):
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


def _spread(within: float | None, between: float | None) -> float:
    """How wide classes are in units of their distance; NaN where that is not known."""
    return within / between if within is not None and between else float("nan")


def remedies(name: str, config: TrainConfig) -> list[Remedy]:
    """What to try against an alarm of that name, the likeliest first; only what makes a valid config."""
    return [remedy for remedy in REMEDIES[name](config) if _is_valid(remedy, config)]


def _is_valid(remedy: Remedy, config: TrainConfig) -> bool:
    try:
        return config.but(**remedy.changes) != config
    except UserError:
        return False


def _against_collapse(config: TrainConfig) -> list[Remedy]:
    return [*_margin(config, 1.0), *_kinder_miner(config), _slower(config, 10)]


def _against_idleness(config: TrainConfig) -> list[Remedy]:
    return [*_harder_miner(config), *_margin(config, 2.0), Remedy("fewer steps", {"steps": max(50, config.steps // 2)})]


def _against_divergence(config: TrainConfig) -> list[Remedy]:
    return [_slower(config, 10), Remedy("embeddings on the sphere", {"normalize": True})]


def _against_explosion(config: TrainConfig) -> list[Remedy]:
    return [Remedy("embeddings on the sphere", {"normalize": True}), _slower(config, 10)]


def _against_overfitting(config: TrainConfig) -> list[Remedy]:
    return [
        Remedy("all training images", {"train_images": None}),
        Remedy("fewer steps", {"steps": max(50, config.steps // 2)}),
        Remedy("weight decay of 0.001", {"weight_decay": 1e-3}),
    ]


REMEDIES: dict[str, Callable[[TrainConfig], list[Remedy]]] = {
    "collapsed": _against_collapse,
    "idle": _against_idleness,
    "diverging": _against_divergence,
    "exploding": _against_explosion,
    "overfitting": _against_overfitting,
}


def _slower(config: TrainConfig, times: int) -> Remedy:
    rate = config.learning_rate / times
    return Remedy(f"a learning rate of {rate:g}", {"learning_rate": rate})


def _margin(config: TrainConfig, times: float) -> list[Remedy]:
    """The margin that is usual, or `times` as large where it has that already."""
    for parameter in LOSSES[config.loss].parameters:
        now = config.loss_params.get(parameter.name)
        if parameter.name != "margin" or not isinstance(now, int | float):
            continue
        if not isinstance(parameter.default, int | float):
            continue
        margin = parameter.default if now < parameter.default else times * now
        words = f"a margin of {margin:g}"
        return [Remedy(words, {"loss_params": dict(config.loss_params) | {parameter.name: margin}})]
    return []


def _kinder_miner(config: TrainConfig) -> list[Remedy]:
    return _miner(config, "semihard_nearest")


def _harder_miner(config: TrainConfig) -> list[Remedy]:
    return _miner(config, "batch_hard", "hard_negative_pairs")


def _miner(config: TrainConfig, *names: str) -> list[Remedy]:
    takes = LOSSES[config.loss].given(config.loss_params).accepts
    fitting = [name for name in names if MINERS[name].makes in takes and name != config.miner]
    words = {name: f"{MINERS[name].title.lower().replace(',', '')} mining" for name in fitting}
    return [Remedy(words[name], {"miner": name}) for name in fitting[:1]]
