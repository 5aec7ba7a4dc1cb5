"""FIELDS: what each setting is called, where it has a meaning, its control, and its short form on the card of a run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dmlviz.catalog.backbones import blocks_of
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.glossary import GLOSSARY
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS, has_batch_norm, nets_for
from dmlviz.catalog.parameters import TABLES, Catalog
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config.rules import takes_memory, takes_neck
from dmlviz.config.training import TrainConfig
from dmlviz.storage.text import counted

DIMENSIONS = (2, 3, 8, 16, 32, 64, 128, 256)
NO_MINER = "None (whole batch)"
GROUPS = (
    "Data and batches",
    "Net",
    "Loss and miner",
    "Optimizer",
    "Length and seed",
    "Evaluation during training",
)
Titles = Mapping[Any, str]


@dataclass(frozen=True, kw_only=True)
class SettingField:
    """A setting as people see it.

    Attributes:
        title: On the form, in menus and in the reference.
        group: Group of settings that it belongs to.
        words: Its name within a sentence; that of the field where it is empty.
        options: The values to choose from, with their titles; None for a number to enter, or a control of its own.
        step: By how much the control of a number changes it.
        most: The largest number that a control offers, where it is below that of the field.
        has_meaning: Whether it says something beside the other settings.
        varied: Whether Compare offers to change it alone.
        help: What a person should know; what the field's description says, where it is empty.
        short: What it adds to the card of a run; empty for nothing.
    """

    title: str
    group: str
    words: str = ""
    options: Callable[[TrainConfig], Titles] | None = None
    step: float = 1
    most: Callable[[TrainConfig], float] | None = None
    has_meaning: Callable[[TrainConfig], object] = lambda config: True
    varied: bool = False
    help: str | Callable[[TrainConfig], str] = ""
    short: Callable[[TrainConfig], str] = lambda config: ""


def words_of(name: str) -> str:
    """Return what a setting is called within a sentence."""
    return FIELDS[name].words or name.replace("_", " ")


def text_of(config: TrainConfig, name: str) -> str:
    """Return the value of a setting as a table writes it."""
    value, options = getattr(config, name), FIELDS[name].options
    return plain(value) if options is None or value is None else options(config).get(value, plain(value))


def plain(value: Any) -> str:
    """Return the value of a setting or a parameter as a table writes it, without titles."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        value = [f"{name} {plain(one)}" for name, one in value.items()]
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or "none"
    number = {float: "g", int: ","}.get(type(value), "")
    return "none" if value is None else f"{value:{number}}"


def shape_of(config: TrainConfig) -> str:
    """Return where embeddings lie, in a word or two."""
    return "Poincaré ball" if config.space == "poincare" else "sphere" if config.normalize else "free"


def space_note(config: TrainConfig, method: str, is_own: bool) -> str:
    """Return what a map must say of the space of its run; empty for most.

    Args:
        config: The settings of the run.
        method: The projection.
        is_own: Whether it is the run's own view, which has the grid of points of the plane.
    """
    if config.dataset_spec.of_points and not is_own:
        return "The grid of the plane is drawn on the map of the training alone."
    if not config.ball or not PROJECTIONS[method].linear:
        return ""
    ways = "lines to neighbors are the shortest ways, and " if PROJECTIONS[method].identity else ""
    return f"Coordinates of the Poincaré ball: {ways}equal distances look the smaller the nearer they are to its rim."


def badges(config: TrainConfig) -> list[str]:
    """Return the short forms of the settings that distinguish runs."""
    return [short for one in FIELDS.values() if (short := one.short(config))]


def limits(config: TrainConfig, name: str) -> tuple[Any, Any]:
    """Return the least and the largest number that a control offers for a setting, of the kind of its value."""
    kind, spec = type(getattr(config, name)), FIELDS[name]
    bounds = {key: value for one in TrainConfig.model_fields[name].metadata for key, value in _bounds(one)}
    least = bounds.get("ge", 1e-6 if "gt" in bounds and kind is float else 1)
    most = spec.most(config) if spec.most else bounds.get("le", bounds.get("lt", 1) - (kind is int))
    return kind(least), kind(most)


def _bounds(constraint: object) -> Iterable[tuple[str, Any]]:
    return ((key, getattr(constraint, key)) for key in ("ge", "gt", "le", "lt") if hasattr(constraint, key))


def _of(catalog: Catalog[Any], names: Callable[[TrainConfig], Iterable[str]] | None = None) -> Any:
    """Return the options of a catalog, or some of it, with their titles."""
    return lambda config: {name: catalog[name].title for name in (names(config) if names else catalog)}


def _miners(config: TrainConfig) -> Titles:
    kinds = config.loss_spec.tuple_kinds
    return {None: NO_MINER, **{name: one.title for name, one in MINERS.items() if one.tuple_kind in kinds}}


def _second_labels(config: TrainConfig) -> Titles:
    return {"": "The classes", **{role: role.capitalize() for role in config.dataset_spec.roles if role != "query"}}


def _samplers(config: TrainConfig) -> list[str]:
    kinds = {"", *config.loss_spec.tuple_kinds}
    return [name for name, one in SAMPLERS.items() if one.tuple_kind in kinds or name == config.sampler]


def _among(titles: Titles) -> Callable[[TrainConfig], Titles]:
    return lambda config: titles


# Of the fields of [field] in dmlviz/catalog/specs.toml what is a function, or made by one.
_CODE: Mapping[str, Mapping[str, Any]] = {
    "dataset": {
        # That of a run may be on another machine.
        "options": _of(DATASETS, lambda s: [*dict.fromkeys([*DATASETS, s.dataset])]),
        "help": lambda s: s.dataset_spec.summary,
        "short": lambda s: s.dataset_spec.title,
    },
    "loss": {"options": _of(LOSSES), "short": lambda s: LOSSES[s.loss].title},
    "miner": {
        "options": _miners,
        "has_meaning": lambda s: s.loss_spec.tuple_kinds and not s.sampler_spec.tuple_kind,
        "short": lambda s: "" if s.miner is None else MINERS[s.miner].title,
    },
    "net": {
        "options": _of(NETS, lambda s: nets_for(s.dataset_spec)),
        "help": lambda s: NETS[s.net].summary,
        "short": lambda s: NETS[s.net].title,
    },
    "embedding_dim": {
        "options": lambda s: {number: str(number) for number in sorted({*DIMENSIONS, s.embedding_dim})},
        "short": lambda s: f"{s.embedding_dim}-d {shape_of(s)}",
    },
    **{name: {"has_meaning": lambda s: s.space == "poincare"} for name in ("curvature", "clip_radius")},
    "bn_neck": {
        "has_meaning": lambda s: s.bn_neck or takes_neck(s),
        "short": lambda s: "BNNeck" if s.bn_neck else "",
    },
    "memory": {
        "has_meaning": lambda s: s.memory or takes_memory(s),
        "short": lambda s: f"memory of {s.memory:,}" if s.memory else "",
    },
    # The command line goes on beyond this.
    "steps": {"most": lambda s: max(20_000, s.steps), "short": lambda s: counted(s.steps, "step")},
    "sampler": {"options": _of(SAMPLERS, _samplers), "help": lambda s: s.sampler_spec.summary},
    "classes_per_batch": {"has_meaning": lambda s: s.sampler_spec.by_class},
    "images_per_class": {"has_meaning": lambda s: s.sampler_spec.by_class},
    "batch_size": {"has_meaning": lambda s: not s.sampler_spec.by_class},
    "corrections": {"short": lambda s: "labels corrected" if s.corrections else ""},
    "label_noise": {"short": lambda s: f"{s.label_noise:.0%} of labels wrong" if s.label_noise else ""},
    "imbalance": {"short": lambda s: f"imbalance {s.imbalance:g}" if s.imbalance > 1 else ""},
    "use_labels": {"short": lambda s: "" if s.use_labels else "labels unused"},
    "views": {"short": lambda s: f"{s.views} views" if s.views > 1 else ""},
    "augmentation": {"short": lambda s: "augmented" if s.augmentation else ""},
    "projection_dim": {"short": lambda s: f"{s.projection_dim}-d head" if s.projection_dim else ""},
    "prefixes": {"short": lambda s: f"prefixes {', '.join(map(str, s.prefixes))}" if s.prefixes else ""},
    "unfrozen_blocks": {
        "most": lambda s: blocks_of(s.dataset_spec),
        "has_meaning": lambda s: blocks_of(s.dataset_spec),
        "short": lambda s: f"unfrozen blocks: {s.unfrozen_blocks}" if s.unfrozen_blocks else "",
    },
    "second_labels": {
        "options": _second_labels,
        "has_meaning": lambda s: len(_second_labels(s)) > 1 and s.loss_spec.parts({}),
        "short": lambda s: f"second labels: {s.second_labels}" if s.second_labels else "",
    },
    "frozen_batch_norm": {
        "has_meaning": lambda s: has_batch_norm(s.dataset_spec, s.net, s.unfrozen_blocks),
        "short": lambda s: "batch norm frozen" if s.frozen_batch_norm else "",
    },
    "mixed_precision": {
        "has_meaning": lambda s: s.unfrozen_blocks or s.mixed_precision,
        "short": lambda s: "mixed precision" if s.mixed_precision else "",
    },
    "seed": {"short": lambda s: f"seed {s.seed}" if s.seed else ""},
    **{name: {"has_meaning": lambda s: s.schedule == "step"} for name in ("decay_epochs", "decay_factor")},
    "backbone_rate": {"has_meaning": lambda s: s.unfrozen_blocks},
    "held_out_classes": {"has_meaning": lambda s: len(s.dataset_spec.trainable_classes) == len(s.dataset_spec.classes)},
}


def _field(name: str, row: Mapping[str, Any]) -> SettingField:
    row = {**row, **_CODE.get(name, {})}
    if "term" in row:
        row["help"] = GLOSSARY[row.pop("term")].text
    if "choices" in row:
        row["options"] = _among(dict(row.pop("choices")))
    return SettingField(**row)


FIELDS = {name: _field(name, row) for name, row in TABLES["field"].items()}
