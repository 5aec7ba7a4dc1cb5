"""Index of all catalog entries, for the Learn page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dmlviz.catalog.datasets import SAMPLERS, SamplerSpec
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS, MinerSpec
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import Catalog, FormulaParameter, LossSpec, Parameter, Spec
from dmlviz.catalog.projections import PROJECTIONS, ProjectionSpec
from dmlviz.config import TrainConfig
from dmlviz_app.feature import pages
from dmlviz_app.learn.answers import Answer
from dmlviz_app.learn.protocol import LossInfo, LossParameter


@dataclass(frozen=True)
class Kind:
    """A catalog that Learn lists: title, noun for an entry, what its cards' drawings show, page of an entry."""

    name: str
    title: str
    noun: str
    catalog: Catalog[Any]
    note: str = ""
    page: str = "learn"


_LOSS_NOTE = (
    "The loss over distance or angle, with its default parameters. Green: an image of the same class moves. "
    "Red: one of another class."
)
_MINER_NOTE = (
    "Its choice in the same 12 points of three classes: positives in green, negatives in red; of triplets, those of "
    "the circled anchor."
)
_MAP_NOTE = (
    "The pixels of the same 500 digits, drawn with default settings; of the learned space, two numbers for each digit: "
    "the ink of one quarter less that of the opposite one."
)

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("loss", "Losses", "Loss", LOSSES, _LOSS_NOTE),
        Kind("miner", "Miners", "Miner", MINERS, _MINER_NOTE),
        Kind("sampler", "Batches", "Batch", SAMPLERS, "The first 60 images of a batch of digits; a color is a class."),
        Kind("projection", "Maps", "Map", PROJECTIONS, _MAP_NOTE),
        Kind("metric", "Metrics", "Metric", METRICS),
        Kind("net", "Nets", "Net", NETS),
    )
}


def page_kinds() -> dict[str, Kind]:
    """Return the catalogs that other pages show, by the noun for an entry."""
    kinds = {}
    for page in pages().values():
        if page.catalog:
            module, _, name = page.catalog.partition(":")
            catalog: Catalog[Any] = getattr(import_module(module), name)
            kinds[catalog.noun] = Kind(catalog.noun, page.title, catalog.noun.capitalize(), catalog, page=page.address)
    return kinds


def kind_of(name: str) -> Kind:
    """Return a catalog of Learn or of another page by the noun for an entry."""
    return KINDS[name] if name in KINDS else page_kinds()[name]


TOPICS: Mapping[str, tuple[str, str]] = {
    "forces": ("Forces in the plane", "Drag anchor, positive and negative; see the loss and where each is pulled."),
    "architectures": (
        "Architectures",
        "Siamese, triplet, two branches, 2-channel, two streams, ArcFace's flow: drawn from the nets themselves.",
    ),
    "figures": (
        "Arguments to move",
        "Perplexity, crowding, the way from a triplet to NT-Xent, τ, s: the arguments of lectures as small figures.",
    ),
    "three-spaces": ("Why MAP@R", "Three spaces that tie in NMI, F1 and R@1. Only MAP@R tells them apart."),
    "exam": (
        "Exam questions",
        "Seven questions on metric learning, each with its answer and where to see it.",
    ),
    "glossary": ("Glossary", "The words of these pages, each explained in a sentence or two."),
}


def entry_title(kind: str, name: str) -> str:
    """Return the title of the entry `name` of a kind, or of the topic of that name."""
    return TOPICS[name][0] if kind == "topic" else kind_of(kind).catalog[name].title


def search(kind: Kind, text: str) -> list[Spec]:
    """Return the entries whose name, title, aliases, family, sentence, use or reference has every word of `text`."""

    def searchable(entry: Spec) -> str:
        parts = (entry.name, entry.title, *entry.aliases, entry.family, entry.summary, entry.when_to_use)
        return " ".join((*parts, entry.reference))

    return [entry for entry in kind.catalog.values() if has_words(searchable(entry), text)]


def has_words(content: str, text: str) -> bool:
    """Return whether `content` has every word of `text`."""
    return all(word in content.lower() for word in text.lower().split())


def symptom_share(answer: Answer, text: str) -> float:
    """Return the share of the words of `text` that an answer's symptoms have; 0 below two thirds.

    Words are compared by their first letters, so that "collapses" finds "collapsed"; short ones say nothing.
    """
    words = {word[:_STEM] for word in re.findall(r"[a-z@0-9-]+", text.lower()) if word not in _SMALL_WORDS}
    content = " ".join((answer.title, *answer.symptoms)).lower()
    share = sum(word in content for word in words) / max(1, len(words))
    return share if share >= _ENOUGH else 0


_STEM, _ENOUGH = 5, 2 / 3
_SMALL_WORDS = frozenset("a an and are at be by do does for i in is it my of on or the this to which why with".split())


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


def recommendations(entry: Spec) -> dict[str, str]:
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
    if isinstance(parameter, FormulaParameter):
        return "a formula"
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
        "parameters": parameters_json(entry),
    }


def parameters_json(entry: Spec) -> list[LossParameter]:
    """Return the parameters of an entry as sliders need them."""
    return [_parameter_json(parameter) for parameter in entry.parameters]


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
