"""The one vocabulary of everything below: what to train, what to draw. Validated, hashable, JSON both ways."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticKnownError

from dmlviz.catalog.custom_datasets import is_custom
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import LossSpec, brief
from dmlviz.catalog.projection_engines import Engine, declaration
from dmlviz.catalog.projections import ProjectionSpec
from dmlviz.errors import UserError
from dmlviz.storage.run_schema import one_line

MAX_COMPLAINTS = 5

NONE = "none"  # how a command line and a URL write None


class Config(BaseModel):
    """Frozen settings with an identity: equal settings have equal hashes, on every machine."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **fields: Any) -> None:
        """Raise UserError, with every complaint as a sentence, where pydantic would raise its report."""
        try:
            super().__init__(**fields)
        except ValidationError as error:
            problems = error.errors()[:MAX_COMPLAINTS]
            raise UserError(" ".join(_validation_message(type(self), problem) for problem in problems)) from None

    @property
    def id(self) -> str:
        """16 hexadecimal digits; the name of the run or projection that these settings ask for."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_json(self) -> str:
        """Write every field, defaults included, as one canonical line."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; raise UserError for anything else."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UserError(f"A config is one JSON object; got text that is not JSON ({error}).") from None
        if not isinstance(fields, dict):
            raise UserError(f"A config is one JSON object; got {text.strip()[:40]}.")
        return cls(**fields)

    def replace(self, **changes: Any) -> Self:
        """The same settings with some changed."""
        return type(self)(**self.model_dump(mode="json") | changes)


def flag(name: str) -> str:
    """The command line's option of a field: --loss-param for loss_params, --embedding-dim for embedding_dim."""
    return "--" + name.removesuffix("s" if name.endswith("params") else "").replace("_", "-")


def _class_ids(value: Any) -> Any:
    """Class ids in order, each once; also read from text like "7,8,9"."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    try:
        return tuple(sorted({int(label) if isinstance(label, str) else label for label in value}))
    except (TypeError, ValueError):
        return value  # the field says what is wrong with it


def _coerce_steps(steps: int, given: ValidationInfo) -> int:
    """At least one; none only for vectors that were given ready, where there is nothing to train."""
    dataset = given.data.get("dataset", "")
    least = 0 if is_custom(dataset) and DATASETS[dataset].size == 0 else 1
    if steps < least:
        raise PydanticKnownError("greater_than_equal", {"ge": least})
    return steps


class TrainConfig(Config):
    """A training: data, net, loss, miner, batches, optimizer, length.

    Fields left out take the values that the loss's declaration recommends, then the defaults below.
    """

    dataset: str = Field("mnist", description="images to train on and to test on")
    max_train_images: int | None = Field(None, ge=10, description="train on the first so many images; all when empty")
    held_out_classes: Annotated[tuple[int, ...], BeforeValidator(_class_ids)] = Field(
        (), description="classes kept out of training, as in 7,8,9; then seen and unseen ones are also scored apart"
    )

    net: str = Field("small", description="embedding net")
    embedding_dim: int = Field(64, ge=1, le=4096, description="dimensions of the embedding")
    normalize: bool = Field(True, description="put the embeddings on the unit sphere; otherwise they lie free")

    loss: str = Field("nt_xent", description="what training makes small")
    loss_params: dict[str, Any] = Field(default_factory=dict, description="the loss's own parameters")
    miner: str | None = Field(None, description="which pairs or triplets of a batch the loss sees; all when empty")
    miner_params: dict[str, Any] = Field(default_factory=dict, description="the miner's own parameters")

    sampler: str = Field("balanced", description="how a batch is put together")
    classes_per_batch: int = Field(10, ge=1, le=1000, description="P: classes in a balanced batch")
    images_per_class: int = Field(16, ge=1, le=1000, description="K: images of each class in a balanced batch")
    batch_size: int = Field(160, ge=1, le=4096, description="images in a shuffled batch")

    optimizer: Literal["adam", "sgd", "rmsprop"] = Field("adam", description="optimizer")
    learning_rate: float = Field(4e-3, gt=0, le=10, description="learning rate at the start")
    loss_learning_rate: float | None = Field(
        None, gt=0, le=10, description="learning rate of the loss's own weights; the net's when empty"
    )
    schedule: Literal["constant", "cosine", "linear", "step"] = Field(
        "cosine", description="how the learning rate falls"
    )
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum of SGD")
    weight_decay: float = Field(0.0, ge=0, le=1, description="weight decay")
    steps: Annotated[int, AfterValidator(_coerce_steps)] = Field(600, le=1_000_000, description="batches to train on")
    max_seconds: float | None = Field(None, gt=0, description="stop after so many seconds; no limit when empty")
    seed: int = Field(0, ge=0, lt=2**31, description="seed of the net's first weights and of the batches")

    eval_subset_size: int = Field(2000, ge=2, description="test images embedded at every snapshot; all at the end")
    num_snapshots: int = Field(60, ge=1, le=1000, description="how often the tracked images are embedded on the way")

    @property
    def train_classes(self) -> tuple[int, ...]:
        """The classes that are trained on, rising."""
        unseen = set(self.held_out_classes)
        return tuple(label for label in range(len(DATASETS[self.dataset].classes)) if label not in unseen)

    @property
    def effective_batch_size(self) -> int:
        """Images in a batch."""
        sampler = SAMPLERS[self.sampler]
        if sampler.by_class:
            return self.classes_per_batch * self.images_per_class
        return self.batch_size - self.batch_size % {"pairs": 2, "triplets": 3}.get(sampler.tuple_kind, 1)

    def replace(self, **changes: Any) -> Self:
        """The same settings with some changed.

        With another loss, whatever stood as the old loss recommends follows the new one's recommendation, and a miner
        that the new loss does not take is left out; parameters stay with the loss or miner that they belong to.
        """
        kept = self.model_dump(mode="json")
        if changes.get("loss", self.loss) != self.loss:
            usual = type(self)(loss=self.loss, loss_params=self.loss_params, embedding_dim=self.embedding_dim)
            kept = {name: value for name, value in kept.items() if getattr(self, name) != getattr(usual, name)}
            kept["embedding_dim"] = self.embedding_dim
            kept.pop("loss_params", None)
            takes = LOSSES[changes["loss"]].for_params(changes.get("loss_params") or {}).tuple_kinds
            if kept.get("miner") and MINERS[kept["miner"]].tuple_kind not in takes:
                del kept["miner"]
            if not kept.get("miner"):
                kept.pop("miner_params", None)
            if SAMPLERS[kept.get("sampler", "balanced")].tuple_kind not in {"", *takes}:
                del kept["sampler"]
        if SAMPLERS[self.sampler].tuple_kind or SAMPLERS[changes.get("sampler", self.sampler)].tuple_kind:
            kept.pop("miner", None)
            kept.pop("miner_params", None)
        if changes.get("miner", self.miner) != self.miner:
            kept.pop("miner_params", None)
        if self.classes_per_batch == self._usual_classes_per_batch:
            kept.pop("classes_per_batch", None)
        if changes.get("dataset", self.dataset) != self.dataset:  # what this one allowed at most, or the next does
            before, after = DATASETS[self.dataset].most, DATASETS[changes["dataset"]].most
            over = {name for name, most in after.items() if kept.get(name, 0) > most}
            kept = {name: value for name, value in kept.items() if name not in over and value != before.get(name)}
        return type(self)(**kept | changes)

    @property
    def _usual_classes_per_batch(self) -> int:
        """The default P, or as many classes as there are to train on."""
        return min(type(self).model_fields["classes_per_batch"].default, len(self.train_classes))

    @model_validator(mode="before")
    @classmethod
    def _fill_recommended(cls, fields: Any) -> Any:
        if not isinstance(fields, Mapping):
            return fields
        params = fields.get("loss_params")
        loss = LOSSES[fields.get("loss", cls.model_fields["loss"].default)]
        loss = loss.for_params(params) if isinstance(params, Mapping) else loss
        dimensions = fields.get("embedding_dim", cls.model_fields["embedding_dim"].default)
        usual = loss.recommended_in(dimensions if isinstance(dimensions, int) else 0)
        usual = {"normalize": True, **usual} if loss.on_sphere else usual
        if "loss_params" in usual and isinstance(params, Mapping):
            usual["loss_params"] = {**usual["loss_params"], **params}
            fields = {name: value for name, value in fields.items() if name != "loss_params"}
        if SAMPLERS[fields.get("sampler", usual.get("sampler", cls.model_fields["sampler"].default))].tuple_kind:
            usual.pop("miner", None)
        for name, most in DATASETS[fields.get("dataset", cls.model_fields["dataset"].default)].most.items():
            usual[name] = min(usual.get(name, cls.model_fields[name].default), most)
        return {**usual, **fields}

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        loss, miner = (
            LOSSES[self.loss].for_params(self.loss_params),
            MINERS[self.miner] if self.miner is not None else None,
        )
        for catalog, name in ((DATASETS, self.dataset), (NETS, self.net), (SAMPLERS, self.sampler)):
            _ = catalog[name]
        _check_classes(self)
        if "classes_per_batch" not in self.model_fields_set:
            object.__setattr__(self, "classes_per_batch", self._usual_classes_per_batch)
        _check_sampler(self, loss)
        if miner is None and self.miner_params:
            raise UserError(f"miner_params go with a miner; got {self.miner_params} and no miner.")
        if miner is not None and miner.tuple_kind not in loss.tuple_kinds:
            offered = [entry.name for entry in MINERS.values() if entry.tuple_kind in loss.tuple_kinds]
            takes = f"takes {' or '.join(sorted(loss.tuple_kinds))}" if loss.tuple_kinds else "takes no miner"
            use = f"use {', '.join(offered)}, or no miner" if offered else "leave the miner out"
            raise UserError(f"{self.loss} {takes}; {self.miner} makes {miner.tuple_kind}: {use}.")
        _check_batch(self, loss)
        _check_space(self, loss)
        object.__setattr__(self, "loss_params", loss.with_defaults(self.loss_params))
        object.__setattr__(self, "miner_params", miner.with_defaults(self.miner_params) if miner else {})
        return self


class ProjectionConfig(Config):
    """A map of embeddings: method, engine, parameters, dimensions and seed; of a run, also which epoch or all."""

    method: str = Field("pca", description="how the embedding is drawn in two or three dimensions")
    engine: Engine = Field(
        "dmlviz", description="who computes t-SNE and UMAP: dmlviz, or as reference scikit-learn and umap-learn"
    )
    params: dict[str, Any] = Field(default_factory=dict, description="the method's own parameters")
    dims: Literal[2, 3] = Field(2, description="dimensions of the map")
    seed: int = Field(0, ge=0, lt=2**31, description="seed of whatever the method draws at random")
    step: int | None = Field(
        None, ge=0, description="of a run: the epoch to draw, as a step of its training; its end when empty"
    )
    all_epochs: bool = Field(
        False, description="of a run: draw its epochs one after another, as maps that can be played"
    )

    @model_serializer(mode="wrap")
    def _without_our_engine(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the engine out where it is ours, so that maps from before there was another keep their names."""
        written: dict[str, Any] = write(self)
        if self.engine == "dmlviz":
            del written["engine"]
        return written

    @property
    def declared(self) -> ProjectionSpec:
        """What the method is and takes with this engine."""
        return declaration(self.method, self.engine)

    @property
    def resumable(self) -> bool:
        """Whether it goes on where it was stopped: a single layout of ours."""
        return "iterations" in self.params and self.engine == "dmlviz" and not self.all_epochs

    @property
    def axes(self) -> tuple[int, ...]:
        """The principal axes that a PCA draws, from left to right, bottom to top, back to front."""
        return tuple(self.params[name] for name in "xyz"[: self.dims])

    @model_validator(mode="after")
    def _complete(self) -> Self:
        object.__setattr__(self, "params", self.declared.with_defaults(self.params))
        if self.method == "pca" and len(set(self.axes)) < self.dims:
            raise UserError(f"PCA draws {self.dims} different components; got {', '.join(map(str, self.axes))}.")
        if self.all_epochs and self.declared.native:
            raise UserError(f"{self.declared.title} of all epochs is what a run plays by itself.")
        if self.params.get("min_dist", 0) > self.params.get("spread", 1):
            raise UserError(
                f"{self.declared.name}: min_dist is at most spread; got {self.params['min_dist']:g} and "
                f"{self.params['spread']:g}."
            )
        return self


MAX_BATCH_SIZE = 4096  # of a batch: its distance matrix has 16 million entries


def _check_classes(config: TrainConfig) -> None:
    data, unseen = DATASETS[config.dataset], config.held_out_classes
    if data.size == 0 and config.steps:
        raise UserError(f"{data.title} holds ready vectors, so there is nothing to train; choose other data.")
    last = len(data.classes) - 1
    unknown = [label for label in unseen if not 0 <= label <= last]
    if unknown:
        raise UserError(f"The classes of {data.title} run from 0 to {last}; got {unknown[0]} in held_out_classes.")
    if unseen and len(config.train_classes) < 2:
        raise UserError(
            f"A metric is learned from at least 2 classes; held_out_classes leaves {len(config.train_classes)} of "
            f"{len(data.classes)}: keep fewer out."
        )


def _check_sampler(config: TrainConfig, loss: LossSpec) -> None:
    sampler = SAMPLERS[config.sampler]
    if not sampler.tuple_kind:
        return
    if config.miner is not None:
        raise UserError(
            f"{sampler.name} decides which {sampler.tuple_kind} the loss sees; got {config.miner}: leave it out."
        )
    if sampler.tuple_kind not in loss.tuple_kinds:
        takes = f"takes {' or '.join(sorted(loss.tuple_kinds))}" if loss.tuple_kinds else "takes whole batches"
        raise UserError(f"{loss.name} {takes}; {sampler.name} makes {sampler.tuple_kind}: use another sampler or loss.")


def _check_batch(config: TrainConfig, loss: LossSpec) -> None:
    images = config.effective_batch_size
    if images > MAX_BATCH_SIZE:
        raise UserError(
            f"A batch has up to {MAX_BATCH_SIZE} images; got {images}: use fewer classes or images of each."
        )
    if config.max_train_images is not None and config.max_train_images < images:
        raise UserError(
            f"A batch takes {images} images; got max_train_images = {config.max_train_images}: use smaller batches."
        )
    if not SAMPLERS[config.sampler].by_class:
        if loss.needs_pairs and images < 4:
            raise UserError(f"{loss.name} compares images; got batches of {images}: use batch_size ≥ 4.")
        return
    classes, seen, data = config.classes_per_batch, len(config.train_classes), DATASETS[config.dataset]
    if classes > seen:
        which = f"{seen} of {len(data.classes)} are seen" if config.held_out_classes else f"{data.title} has {seen}"
        raise UserError(f"A batch takes P = {classes} classes; {which}: use classes_per_batch ≤ {seen}.")
    if not loss.needs_pairs:
        return
    if config.images_per_class < 2:
        raise UserError(
            f"{loss.name} needs at least 2 images of some class; got {images} images of {classes} classes: "
            f"use the balanced sampler with K = images_per_class ≥ 2."
        )
    if classes < 2:
        raise UserError(
            f"{loss.name} needs images of at least 2 classes; got {images} images of 1 class: "
            f"use the balanced sampler with P = classes_per_batch ≥ 2."
        )


def _check_space(config: TrainConfig, loss: LossSpec) -> None:
    if config.embedding_dim == 1 and (config.normalize or loss.on_sphere):
        why = "normalize" if config.normalize else f"{loss.name}, which looks at directions only,"
        raise UserError(f"With {why} one dimension has two places, −1 and 1; got embedding_dim = 1: use 2 or more.")


def _validation_message(model: type[BaseModel], problem: Any) -> str:
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return str(cause)
    name = ".".join(one_line(str(part), 40) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"There is no setting {name!r}; the settings are {', '.join(model.model_fields)}."
    message = problem["msg"][0].lower() + problem["msg"][1:]
    return f"{name}: {message}; got {brief(problem['input'])}."
