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
from dmlviz.catalog.parameters import Catalog
from dmlviz.config.training import TrainConfig
from dmlviz.storage.text import counted

DIMENSIONS = (2, 3, 8, 16, 32, 64, 128, 256)
NO_MINER = "None (whole batch)"
DATA, NET, LOSS = "Data and batches", "Net", "Loss and miner"
OPTIMIZER, LENGTH, EVALUATION = "Optimizer", "Length and seed", "Evaluation during training"
GROUPS = (DATA, NET, LOSS, OPTIMIZER, LENGTH, EVALUATION)

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
    number = {float: "g", int: ","}.get(type(value), "")
    return "none" if value is None else f"{value:{number}}"


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


def _among(titles: Titles) -> Callable[[TrainConfig], Titles]:
    return lambda config: titles


# In the order of menus, and of what stands on the card of a run.
FIELDS = {
    "dataset": SettingField(
        title="Data",
        group=DATA,
        words="dataset",
        options=_of(
            DATASETS, lambda s: [*dict.fromkeys([*DATASETS, s.dataset])]
        ),  # of a run it may be on another machine
        help=lambda s: s.dataset_spec.summary,
        short=lambda s: s.dataset_spec.title,
    ),
    "loss": SettingField(
        title="Loss",
        group=LOSS,
        options=_of(LOSSES),
        varied=True,
        help=GLOSSARY["loss"].text,
        short=lambda s: LOSSES[s.loss].title,
    ),
    "miner": SettingField(
        title="Miner",
        group=LOSS,
        options=_miners,
        has_meaning=lambda s: s.loss_spec.tuple_kinds and not s.sampler_spec.tuple_kind,
        varied=True,
        help=GLOSSARY["miner"].text,
        short=lambda s: "" if s.miner is None else MINERS[s.miner].title,
    ),
    "net": SettingField(
        title="Net",
        group=NET,
        options=_of(NETS, lambda s: nets_for(s.dataset_spec)),
        varied=True,
        help=lambda s: NETS[s.net].summary,
        short=lambda s: NETS[s.net].title,
    ),
    "embedding_dim": SettingField(
        title="Dimensions",
        group=NET,
        words="dimensions",
        options=lambda s: {number: str(number) for number in sorted({*DIMENSIONS, s.embedding_dim})},
        varied=True,
        help=GLOSSARY["dimension"].text,
        short=lambda s: f"{s.embedding_dim}-d {'sphere' if s.normalize else 'free'}",
    ),
    "normalize": SettingField(
        title="Space",
        group=NET,
        words="space",
        options=_among({True: "Sphere", False: "Free"}),
        varied=True,
        help=GLOSSARY["space"].text,
    ),
    "steps": SettingField(
        title="Steps",
        group=LENGTH,
        step=100,
        most=lambda s: max(20_000, s.steps),  # the command line goes on
        varied=True,
        help=GLOSSARY["step"].text,
        short=lambda s: counted(s.steps, "step"),
    ),
    "sampler": SettingField(
        title="Batches",
        group=DATA,
        words="batches",
        options=_of(SAMPLERS),
        varied=True,
        help=lambda s: s.sampler_spec.summary,
    ),
    "classes_per_batch": SettingField(
        title="P classes",
        group=DATA,
        has_meaning=lambda s: s.sampler_spec.by_class,
        varied=True,
        help=GLOSSARY["batch"].text,
    ),
    "images_per_class": SettingField(
        title="K images per class", group=DATA, has_meaning=lambda s: s.sampler_spec.by_class, varied=True
    ),
    "batch_size": SettingField(
        title="Batch size", group=DATA, has_meaning=lambda s: not s.sampler_spec.by_class, varied=True
    ),
    "optimizer": SettingField(
        title="Optimizer",
        group=OPTIMIZER,
        options=_among({"adam": "Adam", "sgd": "SGD", "rmsprop": "RMSprop"}),
        varied=True,
        help=GLOSSARY["optimizer"].text,
    ),
    "learning_rate": SettingField(
        title="Learning rate", group=OPTIMIZER, step=1e-4, varied=True, help=GLOSSARY["learning-rate"].text
    ),
    "schedule": SettingField(
        title="Schedule",
        group=OPTIMIZER,
        options=_among({"constant": "Constant", "cosine": "Cosine", "linear": "Linear", "step": "Step"}),
        varied=True,
        help=GLOSSARY["schedule"].text,
    ),
    "weight_decay": SettingField(
        title="Weight decay", group=OPTIMIZER, step=1e-4, varied=True, help=GLOSSARY["weight-decay"].text
    ),
    "corrections": SettingField(
        title="Corrections", group=DATA, short=lambda s: "labels corrected" if s.corrections else ""
    ),
    "label_noise": SettingField(
        title="Wrong labels",
        group=DATA,
        step=0.05,
        short=lambda s: f"{s.label_noise:.0%} of labels wrong" if s.label_noise else "",
    ),
    "use_labels": SettingField(
        title="Labels",
        group=DATA,
        words="labels",
        options=_among({True: "Used", False: "Unused"}),
        help="Unused: loss and miner never see a label. The positives of an image are its other views, and scores are "
        "read out with labels afterwards.",
        short=lambda s: "" if s.use_labels else "labels unused",
    ),
    "views": SettingField(title="Views", group=DATA, short=lambda s: f"{s.views} views" if s.views > 1 else ""),
    "augmentation": SettingField(
        title="Augmentation", group=DATA, short=lambda s: "augmented" if s.augmentation else ""
    ),
    "projection_dim": SettingField(
        title="Projection head",
        group=NET,
        step=8,
        short=lambda s: f"{s.projection_dim}-d head" if s.projection_dim else "",
    ),
    "unfrozen_blocks": SettingField(
        title="Unfrozen blocks",
        group=NET,
        most=lambda s: blocks_of(s.dataset_spec),
        has_meaning=lambda s: blocks_of(s.dataset_spec),
        varied=True,
        help="0: only the head learns, on features computed once. More: so many of the backbone's last blocks are "
        "trained, too, on the images themselves, which can then be augmented. Meant for a GPU.",
        short=lambda s: f"unfrozen blocks: {s.unfrozen_blocks}" if s.unfrozen_blocks else "",
    ),
    "second_labels": SettingField(
        title="Labels of loss b",
        group=LOSS,
        words="labels of loss b",
        options=_second_labels,
        has_meaning=lambda s: len(_second_labels(s)) > 1 and s.loss_spec.parts({}),
        help="Two branches on one embedding, as for vehicles: loss a sees the identity, loss b a second label, say the "
        "model. The miner chooses for loss a alone.",
        short=lambda s: f"second labels: {s.second_labels}" if s.second_labels else "",
    ),
    "frozen_batch_norm": SettingField(
        title="Batch norm",
        group=NET,
        words="batch norm",
        options=_among({False: "Trained", True: "Frozen"}),
        has_meaning=lambda s: has_batch_norm(s.dataset_spec, s.net, s.unfrozen_blocks),
        help="Frozen: statistics and weights of batch normalization stay as they are at the start. Meant for a "
        "pretrained backbone; a net that begins untrained has no normalization then.",
        short=lambda s: "batch norm frozen" if s.frozen_batch_norm else "",
    ),
    "mixed_precision": SettingField(
        title="Precision",
        group=OPTIMIZER,
        words="precision",
        options=_among({False: "32 bits", True: "Mixed"}),
        has_meaning=lambda s: s.unfrozen_blocks or s.mixed_precision,
        help="Mixed: the net computes with 16-bit numbers, weights and losses keep 32. Faster on a GPU and on "
        "processors with instructions for bfloat16; slower on others.",
        short=lambda s: "mixed precision" if s.mixed_precision else "",
    ),
    "seed": SettingField(
        title="Seed",
        group=LENGTH,
        varied=True,
        help=GLOSSARY["seed"].text,
        short=lambda s: f"seed {s.seed}" if s.seed else "",
    ),
    "backbone_rate": SettingField(
        title="Backbone rate", group=OPTIMIZER, step=0.01, has_meaning=lambda s: s.unfrozen_blocks
    ),
    "held_out_classes": SettingField(
        title="Held-out classes",
        group=DATA,
        has_meaning=lambda s: len(s.dataset_spec.trainable_classes) == len(s.dataset_spec.classes),
        help="Held out, to test generalization to new classes.",
    ),
    "validation_fraction": SettingField(title="Validation share", group=EVALUATION, step=0.05),
    # These have no control on the form.
    "max_train_images": SettingField(title="Training images", group=DATA),
    "loss_params": SettingField(title="Parameters of the loss", group=LOSS),
    "miner_params": SettingField(title="Parameters of the miner", group=LOSS),
    "loss_learning_rate": SettingField(title="Rate of the loss", group=OPTIMIZER),
    "momentum": SettingField(title="Momentum", group=OPTIMIZER),
    "max_seconds": SettingField(title="Time limit", group=LENGTH),
    "eval_subset_size": SettingField(title="Test images at a snapshot", group=EVALUATION),
    "num_snapshots": SettingField(title="Snapshots", group=EVALUATION),
}
