"""The settings of a training: how they go together, and what they make of each other."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, ClassVar, Self

from pydantic import model_validator

from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.datasets import DATASETS, SAMPLERS, usual_strengths
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS, nets_for
from dmlviz.catalog.parameters import Catalog, Fields
from dmlviz.config.rules import RULES, give_way
from dmlviz.config.training_fields import TrainFields


def words_of_strengths(augmentation: Mapping[str, float]) -> str:
    """Return the strengths of an augmentation in words, as in "crop 0.5, rotate 15"."""
    return ", ".join(f"{name} {strength:g}" for name, strength in augmentation.items())


def views_note(config: TrainFields) -> str:
    """Return sentences on labels, views, augmentation, head, memory and backbone; empty for most trainings."""
    strengths = words_of_strengths(config.augmentation)
    notes = []
    if not config.use_labels:
        notes.append(f"Labels unused in training: the positives of an image are its {config.views} views.")
    elif config.views > 1:
        notes.append(f"{config.views} views of each image.")
    if strengths:
        notes.append(f"Augmentation: {strengths}.")
    if config.projection_dim:
        notes.append(
            f"The loss sees a {config.projection_dim}-d projection; scores and maps are of the "
            f"{config.embedding_dim}-d embedding before it."
        )
    if config.memory:
        notes.append(
            f"Each image was also compared with up to {config.memory:,} embeddings of earlier batches; “What the loss "
            "sees” draws the batch alone."
        )
    if config.bn_neck:
        notes.append("The loss on images saw what enters the BNNeck; scores and maps are of what comes out.")
    if config.prefixes:
        lengths = ", ".join(map(str, config.prefixes))
        notes.append(f"The loss also saw the first {lengths} dimensions alone, so that embeddings can be cut there.")
    if config.unfrozen_blocks:
        blocks = "The last block" if config.unfrozen_blocks == 1 else f"The last {config.unfrozen_blocks} blocks"
        notes.append(f"{blocks} of the backbone trained, too, at {config.backbone_rate:g} × the learning rate.")
    return config.dataset_spec.said(" ".join(notes))


def cost_note(config: TrainFields) -> str:
    """Return a sentence on the time that a training with unfrozen blocks takes without a GPU; empty for others."""
    features = DATASETS[config.dataset].features
    if not config.unfrozen_blocks or features is None:
        return ""
    images, ms = config.effective_batch_size * config.views, BACKBONES[features.backbone].training_ms
    return (
        f"Without a GPU about {ms:g} ms of one core for each image: {images * ms / 1000:.1f} s for a step of {images}, "
        "and nearly as long for as many images of a snapshot."
    )


# Defaults of a training without labels: found by measuring, see docs/WITHOUT_LABELS.md.
WITHOUT_LABELS: Fields = {
    "sampler": "shuffled",
    "batch_size": 256,
    "views": 2,
    "steps": 1000,
}
NUM_PLATEAUS = 3  # equal parts of a training with a constant rate each, where no epochs are given
USUAL = "usual"  # for the augmentation that suits the data


_KEPT = {"dataset", "loss", "loss_params", "embedding_dim", "use_labels"}  # whatever a loss recommends


class TrainConfig(TrainFields):
    """A training: data, net, loss, miner, batches, optimizer, length.

    Fields left out take the values that the loss's declaration recommends, then the defaults of the fields.

    Examples:
        >>> config = TrainConfig(dataset="digits", loss="triplet", loss_params={"margin": 0.3}, steps=100)
        >>> config.replace(steps=200).steps
        200
    """

    optional_settings: ClassVar[frozenset[str]] = frozenset(
        {
            *("corrections", "label_noise", "projection_dim", "use_labels", "views", "augmentation"),
            *("unfrozen_blocks", "backbone_rate", "mixed_precision", "frozen_batch_norm", "second_labels"),
            *("decay_epochs", "decay_factor", "warmup_steps", "memory", "prefixes", "bn_neck", "imbalance"),
            *("space", "curvature", "clip_radius"),
        }
    )

    @property
    def plugins(self) -> dict[str, str]:
        """The choices that plug-ins brought, as "loss margin_ratio", each with the hash of its code."""
        losses = [self.loss, *(name for name, _ in LOSSES[self.loss].parts(self.loss_params).values())]
        chosen: list[tuple[Catalog[Any], str]] = [(LOSSES, name) for name in losses]
        chosen += [(DATASETS, self.dataset), (NETS, self.net), (SAMPLERS, self.sampler), (MINERS, self.miner or "")]
        return {f"{catalog.noun} {name}": catalog.code[name] for catalog, name in chosen if name in catalog.code}

    @property
    def id(self) -> str:
        """Hash of the settings and of the code of the plug-ins that they name: with other code it is another run."""
        return self.id_with(self.plugins)

    def id_with(self, plugins: Mapping[str, str]) -> str:
        """Return the ID with this code of plug-ins, which may be another machine's; see `plugins`."""
        code = "".join(f" {name} {plugins[name]}" for name in sorted(plugins))
        return sha256(f"{self.to_json()}{code}".encode()).hexdigest()[:16]

    def steps_of_epoch(self, train_images: int) -> int:
        """Return the batches that visit so many images once."""
        return max(1, train_images // self.effective_batch_size)

    def plateau(self, train_images: int) -> int:
        """Return the steps after which the learning rate falls in the schedule "step"."""
        thirds = max(1, -(-self.steps // NUM_PLATEAUS))
        return self.decay_epochs * self.steps_of_epoch(train_images) or thirds

    @property
    def views_note(self) -> str:
        """Notes on labels, views, augmentation, head and backbone, in sentences; empty for most trainings."""
        return views_note(self)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        With a new loss, fields at the old loss's recommended values take the new one's, and a miner that the new loss
        does not accept is dropped. Parameters are dropped with the loss or miner that they belong to. With and without
        labels other values are recommended, too.

        Args:
            **changes: Fields with their new values.
        """
        changed = {name for name, value in changes.items() if getattr(self, name, None) != value}
        fields = self.model_dump(mode="json")
        if self.augmentation == usual_strengths(self.dataset_spec):  # of other data it is another one
            fields |= {"augmentation": USUAL} if self.use_labels else {}
            fields = fields if self.use_labels else {name: fields[name] for name in fields if name != "augmentation"}
        if changed & {"loss", "use_labels"}:
            usual = self._recommended
            fields = {
                name: value
                for name, value in fields.items()
                if name in _KEPT or getattr(self, name) != getattr(usual, name)
            }
        if "loss" in changed:
            fields.pop("loss_params", None)
        if "miner" in changed or "miner" not in fields:
            fields.pop("miner_params", None)
        if self.sampler_spec.tuple_kind:  # why there is no miner
            fields.pop("miner", None)
        if self.classes_per_batch == self._default_classes_per_batch:
            fields.pop("classes_per_batch", None)
        if "dataset" in changed:  # what is at the limit of the data was not chosen
            most = self.dataset_spec.most
            fields = {name: value for name, value in fields.items() if value != most.get(name)}
        kept = give_way(fields | changes, changed, self.unchecked)
        return type(self)(**kept | changes)

    @classmethod
    def unchecked(cls, fields: Mapping[str, Any]) -> "TrainConfig":
        """Return the config of these fields with what is recommended for the others, whether or not it makes sense."""
        config = cls.model_construct(**cls._with_recommended(fields))
        config._limit_classes()
        return config

    @property
    def _recommended(self) -> "TrainConfig":
        """Return the settings recommended for this loss, in so many dimensions, with or without labels."""
        # Unchecked: what was chosen beside it may be what makes it possible, as no normalization does in 1-D.
        return self.unchecked({name: getattr(self, name) for name in _KEPT - {"dataset"}})

    @property
    def _default_classes_per_batch(self) -> int:
        """The default P, or the number of training classes if that is less."""
        default: int = type(self).model_fields["classes_per_batch"].default
        return min(default, len(self.train_classes))

    def _limit_classes(self) -> None:
        if "classes_per_batch" not in self.model_fields_set:
            object.__setattr__(self, "classes_per_batch", self._default_classes_per_batch)

    @model_validator(mode="before")
    @classmethod
    def _fill_recommended(cls, fields: Any) -> Any:
        return cls._with_recommended(fields) if isinstance(fields, Mapping) else fields

    @classmethod
    def _with_recommended(cls, fields: Mapping[str, Any]) -> Fields:
        params = fields.get("loss_params")
        loss = LOSSES[fields.get("loss", cls.model_fields["loss"].default)]
        loss = loss.for_params(params) if isinstance(params, Mapping) else loss
        dataset = DATASETS[fields.get("dataset", cls.model_fields["dataset"].default)]
        own: dict[str, Any] = {}
        if dataset.of_points:  # a plane, or where the loss compares directions a sphere, so that its grid is seen
            on_sphere = fields.get("normalize", loss.on_sphere and fields.get("space") != "poincare")
            own = {"net": "mlp", "embedding_dim": 3 if on_sphere else 2, "normalize": on_sphere}
        dimensions = {**own, **fields}.get("embedding_dim", cls.model_fields["embedding_dim"].default)
        defaults = loss.recommended_in(dimensions if isinstance(dimensions, int) else 0)
        defaults = {"normalize": True, **defaults} if loss.on_sphere else defaults
        if fields.get("space") == "poincare":
            defaults = {**defaults, "normalize": False}
        if fields.get("use_labels") is False:
            defaults = {**defaults, **WITHOUT_LABELS, "augmentation": USUAL, **loss.without_labels}
        if "loss_params" in defaults and isinstance(params, Mapping):
            defaults["loss_params"] = {**defaults["loss_params"], **params}
            fields = {name: value for name, value in fields.items() if name != "loss_params"}
        if SAMPLERS[fields.get("sampler", defaults.get("sampler", cls.model_fields["sampler"].default))].tuple_kind:
            defaults.pop("miner", None)
        defaults |= own
        if cls.model_fields["net"].default not in (nets := nets_for(dataset)) and not own:
            defaults["net"] = nets[0]
        for name, most in dataset.most.items():
            defaults[name] = min(defaults.get(name, cls.model_fields[name].default), most)
        merged = {**defaults, **fields}
        return {**merged, "augmentation": usual_strengths(dataset)} if merged.get("augmentation") == USUAL else merged

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        loss, miner = self.loss_spec, MINERS[self.miner] if self.miner is not None else None
        for catalog, name in ((DATASETS, self.dataset), (NETS, self.net), (SAMPLERS, self.sampler)):
            _ = catalog[name]
        self._limit_classes()
        for rule in RULES:
            rule.refuse(self)
        object.__setattr__(self, "loss_params", loss.with_defaults(self.loss_params))
        object.__setattr__(self, "miner_params", miner.with_defaults(self.miner_params) if miner else {})
        return self
