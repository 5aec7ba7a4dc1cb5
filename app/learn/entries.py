"""What the Learn page explains: every choice of every catalogue, by kind and name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dmlviz.config import TrainConfig
from dmlviz.data.declared import SAMPLERS, SamplerDeclaration
from dmlviz.declarations import Catalogue, Declaration, LossDeclaration, MinerDeclaration, Parameter
from dmlviz.losses.declared import LOSSES
from dmlviz.metrics.declared import METRICS
from dmlviz.miners.declared import MINERS
from dmlviz.nets.declared import NETS
from dmlviz.projection.declared import PROJECTIONS, ProjectionDeclaration


@dataclass(frozen=True)
class Kind:
    """A catalogue on the Learn page: what its entries are called, together and one alone."""

    name: str
    title: str
    noun: str
    catalogue: Catalogue[Any]


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("loss", "Losses", "Loss", LOSSES),
        Kind("miner", "Miners", "Miner", MINERS),
        Kind("sampler", "Batches", "Batch", SAMPLERS),
        Kind("metric", "Metrics", "Metric", METRICS),
        Kind("projection", "Maps", "Map", PROJECTIONS),
        Kind("net", "Nets", "Net", NETS),
    )
}

TOPICS: Mapping[str, tuple[str, str]] = {
    "forces": ("Forces in the plane", "Drag anchor, positive and negative; see the loss and where each is pulled."),
    "three-spaces": ("Why MAP@R", "Three spaces that tie in NMI, F1 and R@1. Only MAP@R tells them apart."),
}


def title_of(kind: str, name: str) -> str:
    """What the place `name` of a kind, or the topic of that name, is called."""
    return TOPICS[name][0] if kind == "topic" else KINDS[kind].catalogue[name].title


def found(kind: Kind, text: str) -> list[Declaration]:
    """The entries whose name, title, family, sentence, use or reference has every word of `text`."""
    words = text.lower().split()

    def told(entry: Declaration) -> str:
        parts = (entry.name, entry.title, entry.family, entry.summary, entry.when, entry.reference)
        return " ".join(parts).lower()

    return [entry for entry in kind.catalogue.values() if all(word in told(entry) for word in words)]


def families(entries: list[Declaration]) -> dict[str, list[Declaration]]:
    """The entries by family, in the order in which the families come."""
    grouped: dict[str, list[Declaration]] = {}
    for entry in entries:
        grouped.setdefault(entry.family, []).append(entry)
    return grouped


def partners(entry: Declaration) -> list[tuple[Kind, str]]:
    """The other choices that an entry goes with."""
    if isinstance(entry, LossDeclaration):
        miners = [(KINDS["miner"], name) for name, miner in MINERS.items() if miner.makes in entry.accepts]
        samplers = [(KINDS["sampler"], name) for name, sampler in SAMPLERS.items() if sampler.makes in entry.accepts]
        return miners + samplers
    makes = entry.makes if isinstance(entry, MinerDeclaration | SamplerDeclaration) else ""
    return [(KINDS["loss"], name) for name, loss in LOSSES.items() if makes and makes in loss.accepts]


def alone(entry: Declaration) -> str:
    """What is said where an entry has no partners to name."""
    if not isinstance(entry, LossDeclaration):
        return ""
    if entry.needs_classes:
        return "Takes no miner: images are compared with class weights, not with each other."
    return "Takes no miner: it looks at the whole batch itself."


def caution(entry: Declaration) -> str:
    """What to beware of."""
    if isinstance(entry, ProjectionDeclaration):
        return entry.caution
    return entry.lesson if isinstance(entry, LossDeclaration) else ""


def recommended(entry: Declaration) -> dict[str, str]:
    """The settings that a loss brings along, label by label, where they differ from the usual ones."""
    if not isinstance(entry, LossDeclaration):
        return {}
    usual, own = TrainConfig(), TrainConfig(loss=entry.name)
    return {_LABELS[name]: _value(name, own) for name in _LABELS if getattr(own, name) != getattr(usual, name)}


def recommended_in_dimensions(entry: Declaration) -> dict[int, dict[str, str]]:
    """What a loss brings along beyond that in so many dimensions, its parameters included."""
    if not isinstance(entry, LossDeclaration):
        return {}
    advice: dict[int, dict[str, str]] = {}
    for dimensions, fields in entry.in_dimensions.items():
        config = TrainConfig(loss=entry.name, embedding_dim=dimensions)
        params = fields.get("loss_params", {})
        advice[dimensions] = {name.replace("_", " ").capitalize(): f"{value:g}" for name, value in params.items()}
        advice[dimensions] |= {_LABELS[name]: _value(name, config) for name in _LABELS if name in fields}
    return advice


_LABELS = {
    "miner": "Miner",
    "sampler": "Batches",
    "normalize": "Space",
    "classes_per_batch": "Classes in a batch",
    "images_per_class": "Images of each class",
    "batch_size": "Batch size",
    "learning_rate": "Learning rate",
    "loss_learning_rate": "Learning rate of the loss",
    "steps": "Steps",
}


def _value(name: str, config: TrainConfig) -> str:
    value = getattr(config, name)
    if name == "miner":
        return MINERS[value].title if value else "none"
    if name == "sampler":
        return SAMPLERS[value].title
    if name == "normalize":
        return "sphere" if value else "free"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def limits(parameter: Parameter) -> str:
    """What a parameter may be."""
    if parameter.kind is bool:
        return "yes or no"
    if parameter.choices:
        return ", ".join(parameter.choices) if len(parameter.choices) < 5 else f"one of {len(parameter.choices)}"
    if parameter.minimum is None or parameter.maximum is None:
        return "a number"
    words = "".join(f" or {word}" for word in parameter.words)
    return f"{parameter.minimum:g} to {parameter.maximum:g}{words}".replace("-", "−")


def default(parameter: Parameter) -> str:
    """What a parameter is when nobody says."""
    if isinstance(parameter.default, bool):
        return "yes" if parameter.default else "no"
    if isinstance(parameter.default, list):
        return ", ".join(f"{number:g}" for number in parameter.default)
    return f"{parameter.default:g}" if isinstance(parameter.default, int | float) else str(parameter.default)


def plain(entry: LossDeclaration) -> dict[str, Any]:
    """A loss as the page's components take it."""
    return {
        "name": entry.name,
        "title": entry.title,
        "family": entry.family,
        "on_sphere": entry.on_sphere,
        "needs_classes": entry.needs_classes,
        "takes_triplets": "triplets" in entry.accepts and "pairs" not in entry.accepts,
        "parameters": [_plain(parameter) for parameter in entry.parameters],
    }


def _plain(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "kind": parameter.kind.__name__,
        "default": parameter.default,
        "help": parameter.help,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "step": parameter.step,
        "choices": list(parameter.choices),
        "words": list(parameter.words),
    }
