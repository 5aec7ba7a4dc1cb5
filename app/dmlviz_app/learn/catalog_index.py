"""Index of all catalog entries, for the Learn page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dmlviz.catalog.datasets import SAMPLERS, SamplerSpec
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import Catalog, LossSpec, MinerSpec, Parameter, Spec
from dmlviz.catalog.projections import PROJECTIONS, ProjectionSpec
from dmlviz.config import TrainConfig
from dmlviz.labs.registry import LABS
from dmlviz_app.protocol.losses import LossInfo, LossParameter


@dataclass(frozen=True)
class Kind:
    """A catalog on the Learn page, with its title and the noun for one entry."""

    name: str
    title: str
    noun: str
    catalog: Catalog[Any]


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
LAB_KIND = Kind("lab", "Labs", "Lab", LABS)  # on a page of their own, found by the search

TOPICS: Mapping[str, tuple[str, str]] = {
    "forces": ("Forces in the plane", "Drag anchor, positive and negative; see the loss and where each is pulled."),
    "three-spaces": ("Why MAP@R", "Three spaces that tie in NMI, F1 and R@1. Only MAP@R tells them apart."),
    "exam": (
        "Exam questions",
        "Seven questions on metric learning, each with its answer and where to see it.",
    ),
}


def entry_title(kind: str, name: str) -> str:
    """Return the title of the entry `name` of a kind, or of the topic of that name."""
    return TOPICS[name][0] if kind == "topic" else KINDS[kind].catalog[name].title


def search(kind: Kind, text: str) -> list[Spec]:
    """Return the entries whose name, title, aliases, family, sentence, use or reference has every word of `text`."""
    words = text.lower().split()

    def searchable(entry: Spec) -> str:
        parts = (entry.name, entry.title, *entry.aliases, entry.family, entry.summary, entry.when_to_use)
        return " ".join((*parts, entry.reference)).lower()

    return [entry for entry in kind.catalog.values() if all(word in searchable(entry) for word in words)]


def search_topics(text: str) -> list[tuple[str, str, str]]:
    """Return the topics whose title or sentence has every word of `text`: name, title, sentence."""
    words = text.lower().split()
    return [
        (name, title, summary)
        for name, (title, summary) in TOPICS.items()
        if all(word in f"{title} {summary}".lower() for word in words)
    ]


def by_family(entries: list[Spec]) -> dict[str, list[Spec]]:
    """Group the entries by family, in order of appearance."""
    families: dict[str, list[Spec]] = {}
    for entry in entries:
        families.setdefault(entry.family, []).append(entry)
    return families


def related_entries(entry: Spec) -> list[tuple[Kind, str]]:
    """List the entries of other catalogs that an entry combines with."""
    if isinstance(entry, LossSpec):
        miners = [(KINDS["miner"], name) for name, miner in MINERS.items() if miner.tuple_kind in entry.tuple_kinds]
        samplers = [
            (KINDS["sampler"], name) for name, sampler in SAMPLERS.items() if sampler.tuple_kind in entry.tuple_kinds
        ]
        return miners + samplers
    makes = entry.tuple_kind if isinstance(entry, MinerSpec | SamplerSpec) else ""
    return [(KINDS["loss"], name) for name, loss in LOSSES.items() if makes and makes in loss.tuple_kinds]


def no_miner_note(entry: Spec) -> str:
    """Return the note for an entry without partners."""
    if not isinstance(entry, LossSpec):
        return ""
    if entry.needs_classes:
        return "Takes no miner: images are compared with class weights, not with each other."
    return "Takes no miner: it looks at the whole batch itself."


def caveat(entry: Spec) -> str:
    """Return the caveat of an entry."""
    if isinstance(entry, ProjectionSpec):
        return entry.caution
    return entry.caveat if isinstance(entry, LossSpec) else ""


def recommended(entry: Spec) -> dict[str, str]:
    """Return the settings that a loss brings along, by label, where they differ from the usual ones."""
    if not isinstance(entry, LossSpec):
        return {}
    default_config, config = TrainConfig(), TrainConfig(loss=entry.name)
    return {
        _LABELS[name]: _value(name, config)
        for name in _LABELS
        if getattr(config, name) != getattr(default_config, name)
    }


def recommended_in_dimensions(entry: Spec) -> dict[int, dict[str, str]]:
    """Return what a loss brings along beyond that in so many dimensions, its parameters included."""
    if not isinstance(entry, LossSpec):
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
    """Describe the valid values of a parameter."""
    if parameter.kind is bool:
        return "yes or no"
    if parameter.choices:
        return ", ".join(parameter.choices) if len(parameter.choices) < 5 else f"one of {len(parameter.choices)}"
    if parameter.minimum is None or parameter.maximum is None:
        return "a number"
    specials = "".join(f" or {word}" for word in parameter.special_values)
    return f"{parameter.minimum:g} to {parameter.maximum:g}{specials}".replace("-", "−")


def default(parameter: Parameter) -> str:
    """Describe the default of a parameter."""
    if isinstance(parameter.default, bool):
        return "yes" if parameter.default else "no"
    if isinstance(parameter.default, list):
        return ", ".join(f"{number:g}" for number in parameter.default)
    return f"{parameter.default:g}" if isinstance(parameter.default, int | float) else str(parameter.default)


def to_json(entry: LossSpec) -> LossInfo:
    """Return a loss as the page's components take it; explained at `LossSpec`."""
    return {
        "name": entry.name,
        "title": entry.title,
        "family": entry.family,
        "on_sphere": entry.on_sphere,
        "needs_classes": entry.needs_classes,
        "parameters": [_parameter_json(parameter) for parameter in entry.parameters],
    }


def _parameter_json(parameter: Parameter) -> LossParameter:
    return {
        "name": parameter.name,
        "kind": parameter.kind.__name__,
        "default": parameter.default,
        "help": parameter.help,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "step": parameter.step,
        "choices": list(parameter.choices),
        "words": list(parameter.special_values),
    }
