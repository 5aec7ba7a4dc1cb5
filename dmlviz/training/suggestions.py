"""Suggested changes of the settings for each alarm of a failing training. Imports no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError


@dataclass(frozen=True)
class Suggestion:
    """A remedy: `label` for the user, `changes` as settings of the config."""

    label: str
    changes: Mapping[str, Any]


def suggestions(name: str, config: TrainConfig) -> list[Suggestion]:
    """Return the remedies for an alarm, most promising first, that give a valid and different config.

    None for a training of another program, whose settings are not known.
    """
    if not DATASETS[config.dataset].trainable:
        return []
    return [suggestion for suggestion in SUGGESTIONS[name](config) if _is_applicable(suggestion, config)]


def _is_applicable(suggestion: Suggestion, config: TrainConfig) -> bool:
    try:
        return config.replace(**suggestion.changes) != config
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
    return [_lower_learning_rate(config, 10), Suggestion("normalized embeddings", {"normalize": True})]


def _against_explosion(config: TrainConfig) -> list[Suggestion]:
    return [Suggestion("normalized embeddings", {"normalize": True}), _lower_learning_rate(config, 10)]


def _against_overfitting(config: TrainConfig) -> list[Suggestion]:
    return [
        Suggestion("all training images", {"max_train_images": None}),
        Suggestion("fewer steps", {"steps": max(50, config.steps // 2)}),
        Suggestion("weight decay of 0.001", {"weight_decay": 1e-3}),
    ]


SUGGESTIONS: dict[str, Callable[[TrainConfig], list[Suggestion]]] = {
    "collapsed": _against_collapse,
    "inactive": _for_inactive_loss,
    "diverging": _against_divergence,
    "exploding": _against_explosion,
    "overfitting": _against_overfitting,
}


def _lower_learning_rate(config: TrainConfig, divisor: int) -> Suggestion:
    rate = config.learning_rate / divisor
    return Suggestion(f"a learning rate of {rate:g}", {"learning_rate": rate})


def _margin(config: TrainConfig, factor: float) -> list[Suggestion]:
    """Suggest the default margin if the current one is smaller, else `factor` times the current one."""
    for parameter in LOSSES[config.loss].parameters:
        now = config.loss_params.get(parameter.name)
        if parameter.name != "margin" or not isinstance(now, int | float):
            continue
        if not isinstance(parameter.default, int | float):
            continue
        margin = parameter.default if now < parameter.default else factor * now
        label = f"a margin of {margin:g}"
        return [Suggestion(label, {"loss_params": dict(config.loss_params) | {parameter.name: margin}})]
    return []


def _easier_miner(config: TrainConfig) -> list[Suggestion]:
    return _miner(config, "collapsed")


def _harder_miner(config: TrainConfig) -> list[Suggestion]:
    return _miner(config, "inactive")


def _miner(config: TrainConfig, alarm: str) -> list[Suggestion]:
    tuple_kinds = LOSSES[config.loss].for_params(config.loss_params).tuple_kinds
    remedies = [
        name
        for kind in ("triplets", "pairs")
        for name, miner in MINERS.items()
        if (miner.remedy_for, miner.tuple_kind) == (alarm, kind)
    ]
    compatible = [name for name in remedies if MINERS[name].tuple_kind in tuple_kinds and name != config.miner]
    labels = {name: f"{MINERS[name].title.lower().replace(',', '')} mining" for name in compatible}
    return [Suggestion(labels[name], {"miner": name}) for name in compatible[:1]]
