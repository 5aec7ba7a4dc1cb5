"""The rules of settings that must go together: what is refused, in which sentence, and what gives way to a change."""

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dmlviz.catalog.backbones import blocks_of
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS, has_batch_norm, nets_for
from dmlviz.catalog.parameters import Fields, Spec, brief
from dmlviz.config.training_fields import TrainFields
from dmlviz.errors import UserError

MAX_BATCH_SIZE = 4096  # a distance matrix of 16 million entries


@dataclass(frozen=True)
class Rule:
    """A combination of settings that makes no sense.

    Attributes:
        broken: Whether a config has this combination.
        sentence: The rule, what was received, what to do; names in braces are the config's. Empty where nothing is
            refused, but who changes another setting means the usual value of those that give way.
        gives_way: Settings that take their usual values where one of `to` was changed.
        to: The settings to whose change they give way.
    """

    broken: Callable[[TrainFields], object]
    sentence: str | Callable[[TrainFields], str] = ""
    gives_way: tuple[str, ...] = ()
    to: tuple[str, ...] = ()

    def refuse(self, config: TrainFields) -> None:
        """Raise UserError with the sentence if the config breaks the rule."""
        if self.sentence and self.broken(config):
            text = self.sentence
            said = text.format_map(_Of(config)) if isinstance(text, str) else text(config)
            raise UserError(config.dataset_spec.said(said))


class _Of(Fields):
    """What a sentence may name: all that a config has."""

    def __init__(self, config: TrainFields) -> None:
        super().__init__()
        self.config = config

    def __missing__(self, name: str) -> Any:
        return getattr(self.config, name)


def give_way(
    settings: Mapping[str, Any], changed: Collection[str], resolve: Callable[[Mapping[str, Any]], TrainFields]
) -> Fields:
    """Return the settings without those that do not go with the ones that were changed, which stay.

    Args:
        settings: Fields of a config, some or all of them.
        changed: Names of the changed ones.
        resolve: Returns the config that some fields make, unchecked.
    """
    kept = dict(settings)
    for rule in RULES:
        giving = {*rule.gives_way} & {*kept} - {*changed}
        if giving and not {*rule.to}.isdisjoint(changed) and rule.broken(resolve(kept)):
            kept = {name: value for name, value in kept.items() if name not in giving}
    return kept


def _unknown_classes(config: TrainFields) -> list[int]:
    return [label for label in config.held_out_classes if not 0 <= label < len(config.dataset_spec.classes)]


def _too_many_blocks(config: TrainFields) -> str:
    data, got = config.dataset_spec, f"got unfrozen_blocks = {config.unfrozen_blocks}: use"
    if data.features is None:
        return (
            f"Blocks are unfrozen of the backbone of a data set of features, and {data.title} has none; {got} 0, or "
            "compute features with dmlviz data features."
        )
    return f"The backbone of {data.title} has {blocks_of(data)} blocks; {got} {blocks_of(data)} or fewer."


def _no_batch_norm(config: TrainFields) -> str:
    nets = ", ".join(name for name in nets_for(config.dataset_spec) if NETS[name].batch_norm)
    return (
        f"Batch normalization is frozen where there is some; {config.net} has none: use frozen_batch_norm = false, or "
        f"{nets or 'unfreeze blocks of a backbone that has some'}."
    )


def _unknown_role(config: TrainFields) -> str:
    roles = ", ".join(config.dataset_spec.roles)
    return (
        f"{config.dataset} has {f'the labels {roles}' if roles else 'no second labels'}; got {config.second_labels}: "
        f"use {f'one of {roles}' if roles else 'none, or another data set'}."
    )


def _takes(config: TrainFields, nothing: str) -> str:
    """Say what tuples the loss takes."""
    return f"{config.loss} takes {' or '.join(sorted(config.loss_spec.tuple_kinds)) or nothing}"


def _other_tuples(config: TrainFields) -> str:
    kinds = config.loss_spec.tuple_kinds
    miners = ", ".join(miner.name for miner in MINERS.values() if miner.tuple_kind in kinds)
    return (
        f"{_takes(config, 'no miner')}; {config.miner} makes {MINERS[config.miner or ''].tuple_kind}: use "
        f"{f'{miners}, or ' * bool(miners)}no miner."
    )


def _losses_of_classes(config: TrainFields) -> list[str]:
    """Return the losses that compare images with classes, or go by their order: the loss, or those in a sum."""
    parts = [name for name, _ in config.loss_spec.parts(config.loss_params).values()] or [config.loss]
    specs = [LOSSES[name] for name in parts]
    return [spec.name for spec in specs if spec.needs_classes or spec.compares == "classes" or spec.by_number]


def _without_labels(config: TrainFields) -> str:
    part = _losses_of_classes(config)[0]
    return (
        f"{part if part == config.loss else f'{part} in {config.loss}'} "
        f"{'goes by the order of labels' if LOSSES[part].by_number else 'compares images with classes'}; "
        "got use_labels = false: use a loss that compares images with images."
    )


def _too_many_classes(config: TrainFields) -> str:
    available, data = len(config.train_classes), config.dataset_spec
    count = len(data.classes)
    reason = f"{available} of {count} are seen" if available < count else f"{data.title} has {available}"
    return f"A batch has P = {config.classes_per_batch} classes; {reason}: use classes_per_batch ≤ {available}."


def _compares(config: TrainFields, by_class: bool) -> bool:
    """Return whether the loss compares images, in batches by class or in others."""
    return config.loss_spec.needs_pairs and config.sampler_spec.by_class == by_class


def takes_memory(config: TrainFields) -> bool:
    """Return whether what these settings compare may be compared with a memory of earlier batches, too."""
    memory = config.loss_spec.memory
    return memory == "always" or (memory == "mined" and config.miner is not None)


def takes_neck(config: TrainFields) -> bool:
    """Return whether a BNNeck can stand between the two losses of a sum, one on images and one on classes."""
    parts = config.loss_spec.parts(config.loss_params).values()
    return {LOSSES[name].needs_pairs for name, _ in parts} == {True, False}


def _no_memory(config: TrainFields) -> str:
    why = "compares a memory where a miner selects" if config.loss_spec.memory else "compares images of a batch alone"
    use = "choose a miner" if config.loss_spec.memory else "choose another loss, as nt_xent or triplet"
    return f"{config.loss} {why}; got memory = {config.memory}: use no memory, or {use}."


_DEEPEST = 4.0  # √c times the clip radius: farther out float32 does not tell the points of a ball from the rim


def _chosen(config: TrainFields) -> list[tuple[Spec, Mapping[str, Any]]]:
    """Return the loss, or those of a sum, and the miner, each with its parameters."""
    named = [*config.loss_spec.parts(config.loss_params).values()] or [(config.loss, config.loss_params)]
    chosen: list[tuple[Spec, Mapping[str, Any]]] = [(LOSSES[name], params) for name, params in named]
    return chosen if config.miner is None else [*chosen, (MINERS[config.miner], config.miner_params)]


def _of_training_set(config: TrainFields) -> str:
    """Say which choice looks at all training images by class where it cannot; empty where it can, or none does."""
    if config.use_labels and config.views == 1 and not (config.projection_dim or config.prefixes or config.bn_neck):
        return ""
    choices = [*(spec for spec, _ in reversed(_chosen(config))), config.sampler_spec]
    name = next((spec.name for spec in choices if spec.of_training_set), "")
    return name and (
        f"{name} looks at all training images by their class, not at views, prefixes, behind a projection head or "
        "before a BNNeck: train with labels, 1 view and none of these, or choose another."
    )


def _outside_ball(config: TrainFields) -> str:
    """Say why loss, miner or sampler do not take the distances of the ball; empty where they do."""
    if not config.ball:
        return ""
    chosen = _chosen(config)
    for spec, params in chosen:
        given = {one.name: one.default for one in spec.parameters} | dict(params)
        if not spec.in_ball or re.search(r"\bs(?![a-z])", given.get("formula", "")):
            other = "miner" if spec is chosen[-1][0] and config.miner is not None else "loss, as nt_xent or triplet"
            return (
                f"{spec.name} needs angles, means or vectors; a Poincaré ball has distances: choose another {other}, "
                "or space = euclidean."
            )
        if given.get("distance") == "cosine":
            return f"In a Poincaré ball {spec.name} takes its distance; got distance = cosine: choose euclidean."
    if config.sampler_spec.in_ball:
        return ""
    return f"{config.sampler} compares means of classes, and a Poincaré ball has distances: use another sampler."


def _usual(name: str) -> Any:
    return TrainFields.model_fields[name].default


def long_tail(smallest: int, imbalance: float, classes: int) -> list[int]:
    """Return what an imbalance leaves of each of so many classes, of which the smallest has so many images."""
    return [max(1, round(smallest * imbalance ** -(at / max(1, classes - 1)))) for at in range(classes)]


def _most(config: TrainFields, name: str) -> float:
    """Return how large the data let a setting be, a batch without a repeated image after what an imbalance leaves."""
    most = config.dataset_spec.most
    if name == "images_per_class" and config.held_out_classes:  # it may be one of these that has the fewest
        return math.inf
    if config.imbalance > 1 and "images_per_class" in most:
        left = long_tail(most["images_per_class"], config.imbalance, len(config.train_classes))
        if name == "images_per_class":
            return left[-1]
        if name == "batch_size" and not config.sampler_spec.needs_labels:
            return sum(left)
    return most.get(name, math.inf)


def _is_over(config: TrainFields, name: str) -> bool:
    return bool(getattr(config, name) > _most(config, name))


def _use_less(config: TrainFields, name: str) -> str:
    """Say how many there are, and what to do."""
    most, tail = _most(config, name), config.imbalance > 1
    return (
        f"{most}{f' with imbalance = {config.imbalance:g}' * tail}: use {name} ≤ {most}{', or less imbalance' * tail}."
    )


# The first that is broken is said; what gave way to one is gone for those that follow.
RULES = (
    Rule(
        lambda s: not s.dataset_spec.trainable and s.steps,
        "{dataset_spec.title} was embedded by another program and cannot be trained on here; choose another data set.",
    ),
    Rule(
        _unknown_classes,
        lambda s: (
            f"Class IDs of {s.dataset_spec.title} run from 0 to {len(s.dataset_spec.classes) - 1}; got "
            f"{_unknown_classes(s)[0]} in held_out_classes."
        ),
        gives_way=("held_out_classes",),
        to=("dataset",),
    ),
    Rule(
        lambda s: s.held_out_classes and len(s.dataset_spec.trainable_classes) < len(s.dataset_spec.classes),
        lambda s: (
            f"{s.dataset_spec.title} tests on other classes than it trains on; got {len(s.held_out_classes)} in "
            "held_out_classes: hold out none."
        ),
    ),
    Rule(
        lambda s: s.held_out_classes and len(s.train_classes) < 2,
        lambda s: (
            f"Training needs at least 2 classes; held_out_classes leaves {len(s.train_classes)} of "
            f"{len(s.dataset_spec.classes)}: hold out fewer."
        ),
    ),
    Rule(
        lambda s: s.net not in nets_for(s.dataset_spec),
        lambda s: (
            f"{s.dataset_spec.title} holds {'points' if s.dataset_spec.of_points else 'features of a backbone'}, which "
            f"a net for vectors learns from; got the net {s.net}: "
            f"choose {' or '.join(nets_for(s.dataset_spec))}."
        ),
        gives_way=("net",),
        to=("dataset",),
    ),
    Rule(
        lambda s: s.unfrozen_blocks > blocks_of(s.dataset_spec),
        _too_many_blocks,
        gives_way=("unfrozen_blocks", "backbone_rate"),
        to=("dataset",),
    ),
    Rule(lambda s: not blocks_of(s.dataset_spec), gives_way=("backbone_rate",), to=("dataset",)),
    Rule(
        lambda s: s.frozen_batch_norm and not has_batch_norm(s.dataset_spec, s.net, s.unfrozen_blocks),
        _no_batch_norm,
        gives_way=("frozen_batch_norm",),
        to=("dataset", "net", "unfrozen_blocks"),
    ),
    Rule(
        lambda s: s.takes_features and not s.use_labels,
        "Training without labels needs augmented images, and the features of {dataset_spec.title} were computed once; "
        "got use_labels = false: train with labels, or on the images themselves, or unfreeze blocks of the backbone.",
    ),
    Rule(
        lambda s: s.takes_features and s.augmentation,
        lambda s: (
            f"The features of {s.dataset_spec.title} were computed once, so its images cannot be augmented; got the "
            f"augmentation {', '.join(s.augmentation)}: use none, or unfreeze blocks of the backbone."
        ),
        gives_way=("views", "augmentation"),
        to=("dataset", "unfrozen_blocks"),
    ),
    Rule(
        lambda s: s.dataset_spec.of_points and s.augmentation.keys() - {"shift"},
        lambda s: (
            f"The points of {s.dataset_spec.title} have a place and nothing else, which a shift changes; got the "
            f"augmentation {', '.join(s.augmentation.keys() - {'shift'})}: use shift alone, or none."
        ),
        gives_way=("views", "augmentation"),
        to=("dataset",),
    ),
    Rule(
        lambda s: "hue" in s.augmentation and s.dataset_spec.channels == 1,
        lambda s: (
            f"The images of {s.dataset_spec.title} are gray and have no hue; got the augmentation hue "
            f"= {s.augmentation['hue']:g}: leave it out, or use jitter for brightness and contrast."
        ),
        gives_way=("views", "augmentation"),
        to=("dataset",),
    ),
    Rule(
        lambda s: s.second_labels and not s.loss_spec.parts(s.loss_params),
        "Second labels are for the second loss of a sum; got {second_labels} for {loss}: use weighted_sum, or no "
        "second_labels.",
        gives_way=("second_labels",),
        to=("loss",),
    ),
    Rule(
        lambda s: s.second_labels and s.second_labels not in s.dataset_spec.roles,
        _unknown_role,
        gives_way=("second_labels",),
        to=("dataset",),
    ),
    Rule(
        lambda s: s.second_labels and not s.use_labels,
        "Second labels are labels; got use_labels = false: use no second_labels, or labels.",
    ),
    Rule(
        lambda s: s.sampler_spec.tuple_kind and s.miner is not None,
        "{sampler} makes the {sampler_spec.tuple_kind} itself; got the miner {miner}: use no miner.",
        gives_way=("miner", "miner_params"),
        to=("sampler",),
    ),
    Rule(
        lambda s: s.sampler_spec.tuple_kind not in {"", *s.loss_spec.tuple_kinds},
        lambda s: (
            f"{_takes(s, 'whole batches')}; {s.sampler} makes {s.sampler_spec.tuple_kind}: use another sampler or loss."
        ),
        gives_way=("sampler",),
        to=("loss",),
    ),
    Rule(
        lambda s: s.views > 1 and not s.augmentation,
        "Views of an image differ by their augmentation; got views = {views} and no augmentation: set one, e.g. "
        "rotate=15.",
    ),
    Rule(
        lambda s: s.views > 1 and s.sampler_spec.tuple_kind,
        "{sampler} makes the {sampler_spec.tuple_kind} itself; got views = {views}: use 1 view, or another sampler.",
    ),
    Rule(
        lambda s: s.projection_dim and s.loss_spec.needs_classes,
        "{loss} learns weights of classes, which belong to the embedding; got projection_dim = {projection_dim}: use "
        "no projection head.",
    ),
    Rule(
        lambda s: not s.use_labels and s.views < 2,
        "Without labels, the positives of an image are its other views; got views = 1: use 2 or more.",
        gives_way=("views",),
        to=("use_labels",),
    ),
    Rule(
        lambda s: not s.use_labels and s.sampler_spec.needs_labels,
        "{sampler} makes batches by class labels; got use_labels = false: use another sampler.",
        gives_way=("sampler",),
        to=("use_labels",),
    ),
    Rule(lambda s: not s.use_labels and _losses_of_classes(s), _without_labels),
    Rule(
        lambda s: s.miner is None and s.miner_params,
        lambda s: f"miner_params need a miner; got {brief(s.miner_params)} and no miner: choose one.",
    ),
    Rule(
        lambda s: s.miner is not None and MINERS[s.miner].tuple_kind not in s.loss_spec.tuple_kinds,
        _other_tuples,
        gives_way=("miner", "miner_params"),
        to=("loss",),
    ),
    Rule(
        lambda s: s.prefixes and s.projection_dim,
        "Prefixes are of the embedding, and a loss behind a projection head does not see it; got projection_dim = "
        "{projection_dim}: use no projection head, or no prefixes.",
        gives_way=("prefixes",),
        to=("projection_dim",),
    ),
    Rule(
        lambda s: s.prefixes and s.prefixes[-1] >= s.embedding_dim,
        lambda s: (
            f"A prefix is shorter than the embedding of {s.embedding_dim} dimensions; got {s.prefixes[-1]}: leave it "
            "out, or use more dimensions."
        ),
        gives_way=("prefixes",),
        to=("embedding_dim",),
    ),
    Rule(
        lambda s: s.prefixes and s.prefixes[0] == 1 and (s.normalize or s.loss_spec.on_sphere),
        "A normalized prefix of 1 dimension has only two points, −1 and 1; got prefixes = {prefixes}: begin with 2 or "
        "more.",
        gives_way=("prefixes",),
        to=("loss", "normalize"),
    ),
    Rule(
        lambda s: s.bn_neck and not takes_neck(s),
        "A BNNeck stands between a loss on images and one with class weights; got {loss}: use weighted_sum of one of "
        "each, as triplet and softmax, or no BNNeck.",
        gives_way=("bn_neck",),
        to=("loss",),
    ),
    Rule(
        lambda s: s.ball and s.normalize,
        "Points of a Poincaré ball have any length, and normalized ones are on a sphere; got space = poincare and "
        "normalize = true: leave one of them out.",
        gives_way=("normalize",),
        to=("space",),
    ),
    Rule(lambda s: s.ball and s.normalize, gives_way=("space",), to=("normalize",)),
    Rule(
        _of_training_set,
        _of_training_set,
        gives_way=("prefixes", "projection_dim", "bn_neck"),
        to=("loss", "miner", "sampler"),
    ),
    Rule(_outside_ball, _outside_ball),
    Rule(
        lambda s: s.ball and (s.prefixes or s.projection_dim),
        "Prefixes and a projection head are of vectors; got space = poincare: leave them out.",
        gives_way=("prefixes", "projection_dim"),
        to=("space",),
    ),
    Rule(
        lambda s: not s.ball and (s.curvature, s.clip_radius) != (_usual("curvature"), _usual("clip_radius")),
        "curvature and clip_radius are of the Poincaré ball; got space = {space}: use space = poincare, or leave them "
        "out.",
        gives_way=("curvature", "clip_radius"),
        to=("space", "normalize"),
    ),
    Rule(
        lambda s: s.ball and s.clip_radius * s.curvature**0.5 > _DEEPEST,
        lambda s: (
            f"Features are clipped to a length of at most {_DEEPEST / s.curvature**0.5:.3g} with a curvature of "
            f"{s.curvature:g}, as float32 does not tell points farther out from the rim; got clip_radius = "
            f"{s.clip_radius:g}."
        ),
    ),
    Rule(lambda s: s.memory and not takes_memory(s), _no_memory, gives_way=("memory",), to=("loss", "miner")),
    Rule(
        lambda s: s.memory and s.sampler_spec.tuple_kind,
        "{sampler} makes the {sampler_spec.tuple_kind} itself, of one batch; got memory = {memory}: use no memory, or "
        "another sampler.",
        gives_way=("memory",),
        to=("sampler",),
    ),
    Rule(
        lambda s: s.memory and s.second_labels,
        "A memory keeps the class of an image, not its {second_labels}; got memory = {memory}: use no memory, or no "
        "second_labels.",
        gives_way=("memory",),
        to=("second_labels",),
    ),
    Rule(
        lambda s: s.effective_batch_size * s.views > MAX_BATCH_SIZE,
        lambda s: (
            f"A batch has at most {MAX_BATCH_SIZE} images; got {s.effective_batch_size * s.views}: use fewer "
            f"{'views or smaller batches' if s.views > 1 else 'classes or images per class'}."
        ),
    ),
    Rule(
        lambda s: s.max_train_images is not None and s.max_train_images < s.effective_batch_size,
        "A batch has {effective_batch_size} images; got max_train_images = {max_train_images}: use smaller batches.",
    ),
    Rule(
        lambda s: _compares(s, by_class=False) and s.effective_batch_size < 4,
        lambda s: (
            f"{s.loss} needs at least 4 {'different ' * (s.views > 1)}images per batch; got {s.effective_batch_size}: "
            "use batch_size ≥ 4."
        ),
    ),
    Rule(
        lambda s: s.sampler_spec.by_class and s.classes_per_batch > len(s.train_classes),
        _too_many_classes,
        gives_way=("classes_per_batch",),
        to=("dataset", "loss", "use_labels", "sampler"),
    ),
    Rule(
        lambda s: _compares(s, by_class=True) and s.images_per_class * s.views < 2,
        "{loss} needs at least 2 images of a class; got {effective_batch_size} images of {classes_per_batch} classes: "
        "use the balanced sampler with K = images_per_class ≥ 2.",
    ),
    Rule(  # without steps nothing is compared: embeddings without labels
        lambda s: _compares(s, by_class=True) and s.classes_per_batch < 2 and s.steps,
        "{loss} needs images of at least 2 classes; got {effective_batch_size} images of 1 class: use the balanced "
        "sampler with P = classes_per_batch ≥ 2.",
    ),
    Rule(
        lambda s: s.embedding_dim == 1 and (s.normalize or s.loss_spec.on_sphere),
        lambda s: (
            f"A normalized 1-D embedding{'' if s.normalize else f' (by {s.loss})'} has only two points, −1 and 1; got "
            "embedding_dim = 1: use 2 or more."
        ),
    ),
    Rule(
        lambda s: s.schedule != "step" and (s.decay_epochs or s.decay_factor != _usual("decay_factor")),
        "decay_epochs and decay_factor say where the rate falls in the schedule step; got schedule = {schedule}: use "
        "schedule = step, or leave them out.",
        gives_way=("decay_epochs", "decay_factor"),
        to=("schedule",),
    ),
    Rule(
        lambda s: s.steps and s.warmup_steps >= s.steps,
        "The warm-up ends before the training; got warmup_steps = {warmup_steps} of {steps} steps: use fewer.",
    ),
    Rule(lambda s: s.corrections, gives_way=("corrections",), to=("dataset",)),  # of the other images
    Rule(
        lambda s: _most(s, "images_per_class") < 2 > s.views and (s.sampler_spec.tuple_kind or _compares(s, True)),
        "{loss} compares two images of a class; imbalance = {imbalance:g} leaves the smallest of {dataset_spec.title} "
        "with 1: use less imbalance, or another sampler.",
    ),
    Rule(
        lambda s: _is_over(s, "images_per_class") and s.sampler_spec.by_class,
        lambda s: (
            f"A batch has K = {s.images_per_class} images of a class; the smallest class of {s.dataset_spec.title} has "
            f"{_use_less(s, 'images_per_class')}"
        ),
    ),
    Rule(
        lambda s: _is_over(s, "batch_size") and not s.sampler_spec.by_class,
        lambda s: (
            f"A batch has {s.batch_size} images; to train on {s.dataset_spec.title} has {_use_less(s, 'batch_size')}"
        ),
    ),
    Rule(
        lambda s: _is_over(s, "images_per_class"),
        gives_way=("images_per_class",),
        to=("dataset", "held_out_classes", "sampler"),
    ),
    Rule(lambda s: _is_over(s, "batch_size"), gives_way=("batch_size",), to=("dataset", "sampler")),
    Rule(lambda s: _is_over(s, "eval_subset_size"), gives_way=("eval_subset_size",), to=("dataset",)),
)
