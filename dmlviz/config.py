"""Validated, hashable configurations: `TrainConfig` and `ProjectionConfig`."""

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
from dmlviz.errors import UnknownNameError, UserError
from dmlviz.storage.text import one_line

MAX_COMPLAINTS = 5
MAX_BATCH_SIZE = 4096  # a distance matrix of 16 million entries

NONE = "none"  # None on the command line and in a URL


class Config(BaseModel):
    """Frozen settings with an ID: equal settings have equal IDs on every machine."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **fields: Any) -> None:
        """Validate the fields; raise UserError, with one sentence per problem, instead of pydantic's error."""
        try:
            super().__init__(**fields)
        except ValidationError as error:
            problems = error.errors()[:MAX_COMPLAINTS]
            unknown = any(isinstance(_cause(problem), UnknownNameError) for problem in problems)
            kind = UnknownNameError if unknown else UserError
            raise kind(" ".join(_validation_message(type(self), problem) for problem in problems)) from None

    @property
    def id(self) -> str:
        """Hash of the settings, 16 hexadecimal digits; the name of their run or projection."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_json(self) -> str:
        """Return every field, defaults included, as one canonical line of JSON."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse the output of `to_json`; raise UserError for anything else."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UserError(f"A config is one JSON object; got text that is not JSON ({error}).") from None
        if not isinstance(fields, dict):
            raise UserError(f"A config is one JSON object; got {text.strip()[:40]}.")
        return cls(**fields)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        return type(self)(**self.model_dump(mode="json") | changes)


def flag(name: str) -> str:
    """Return the command-line option of a field: --loss-param for loss_params, --embedding-dim for embedding_dim."""
    return "--" + name.removesuffix("s" if name.endswith("params") else "").replace("_", "-")


def _class_ids(value: Any) -> Any:
    """Return sorted unique class IDs; accepts text such as "7,8,9"."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    try:
        return tuple(sorted({int(label) if isinstance(label, str) else label for label in value}))
    except (TypeError, ValueError):
        return value  # the validation of the field reports it


def _coerce_steps(steps: int, info: ValidationInfo) -> int:
    """Require at least 1 step; 0 is for imported embeddings, which are not trained."""
    dataset = info.data.get("dataset", "")
    min_steps = 0 if is_custom(dataset) and DATASETS[dataset].size == 0 else 1
    if steps < min_steps:
        raise PydanticKnownError("greater_than_equal", {"ge": min_steps})
    return steps


class TrainConfig(Config):
    """A training: data, net, loss, miner, batches, optimizer, length.

    Fields left out take the values that the loss's declaration recommends, then the defaults below.
    """

    dataset: str = Field("mnist", description="data set")
    max_train_images: int | None = Field(None, ge=10, description="use only the first N training images (default: all)")
    held_out_classes: Annotated[tuple[int, ...], BeforeValidator(_class_ids)] = Field(
        (), description="classes held out of training, e.g. 7,8,9; adds separate scores for seen and unseen classes"
    )

    net: str = Field("small", description="embedding net")
    embedding_dim: int = Field(64, ge=1, le=4096, description="dimensions of the embedding")
    normalize: bool = Field(True, description="L2-normalize the embeddings")

    loss: str = Field("nt_xent", description="loss function")
    loss_params: dict[str, Any] = Field(default_factory=dict, description="loss parameters")
    miner: str | None = Field(None, description="miner (default: all pairs or triplets of the batch)")
    miner_params: dict[str, Any] = Field(default_factory=dict, description="miner parameters")

    sampler: str = Field("balanced", description="batch sampler")
    classes_per_batch: int = Field(10, ge=1, le=1000, description="classes per balanced batch (P)")
    images_per_class: int = Field(16, ge=1, le=1000, description="images per class in a balanced batch (K)")
    batch_size: int = Field(160, ge=1, le=4096, description="batch size of the other samplers")

    optimizer: Literal["adam", "sgd", "rmsprop"] = Field("adam", description="optimizer")
    learning_rate: float = Field(4e-3, gt=0, le=10, description="initial learning rate")
    loss_learning_rate: float | None = Field(
        None, gt=0, le=10, description="learning rate of the loss parameters (default: learning_rate)"
    )
    schedule: Literal["constant", "cosine", "linear", "step"] = Field("cosine", description="learning-rate schedule")
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum of SGD")
    weight_decay: float = Field(0.0, ge=0, le=1, description="weight decay")
    steps: Annotated[int, AfterValidator(_coerce_steps)] = Field(
        600, le=1_000_000, description="number of training steps"
    )
    max_seconds: float | None = Field(None, gt=0, description="time limit in seconds (default: none)")
    seed: int = Field(0, ge=0, lt=2**31, description="random seed (initial weights and batches)")

    eval_subset_size: int = Field(
        2000, ge=2, description="number of test images embedded at each snapshot; all at the end"
    )
    num_snapshots: int = Field(60, ge=1, le=1000, description="number of snapshots")

    @property
    def train_classes(self) -> tuple[int, ...]:
        """Class IDs used for training, ascending."""
        unseen = set(self.held_out_classes)
        return tuple(label for label in range(len(DATASETS[self.dataset].classes)) if label not in unseen)

    @property
    def effective_batch_size(self) -> int:
        """Images per batch."""
        sampler = SAMPLERS[self.sampler]
        if sampler.by_class:
            return self.classes_per_batch * self.images_per_class
        return self.batch_size - self.batch_size % {"pairs": 2, "triplets": 3}.get(sampler.tuple_kind, 1)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        With a new loss, fields at the old loss's recommended values take the new one's, and a miner that the new loss
        does not accept is dropped. Parameters are dropped with the loss or miner that they belong to.
        """
        fields = self.model_dump(mode="json")
        if changes.get("loss", self.loss) != self.loss:
            recommended = type(self)(loss=self.loss, loss_params=self.loss_params, embedding_dim=self.embedding_dim)
            fields = {
                name: value for name, value in fields.items() if getattr(self, name) != getattr(recommended, name)
            }
            fields["embedding_dim"] = self.embedding_dim
            fields.pop("loss_params", None)
            tuple_kinds = LOSSES[changes["loss"]].for_params(changes.get("loss_params") or {}).tuple_kinds
            if fields.get("miner") and MINERS[fields["miner"]].tuple_kind not in tuple_kinds:
                del fields["miner"]
            if not fields.get("miner"):
                fields.pop("miner_params", None)
            sampler = fields.get("sampler", type(self).model_fields["sampler"].default)
            if SAMPLERS[sampler].tuple_kind not in {"", *tuple_kinds}:
                del fields["sampler"]
        if SAMPLERS[self.sampler].tuple_kind or SAMPLERS[changes.get("sampler", self.sampler)].tuple_kind:
            fields.pop("miner", None)
            fields.pop("miner_params", None)
        if changes.get("miner", self.miner) != self.miner:
            fields.pop("miner_params", None)
        if self.classes_per_batch == self._default_classes_per_batch:
            fields.pop("classes_per_batch", None)
        if (
            changes.get("dataset", self.dataset) != self.dataset
        ):  # drop what is above the new limits, or at the old ones
            before, after = DATASETS[self.dataset].most, DATASETS[changes["dataset"]].most
            over = {name for name, most in after.items() if fields.get(name, 0) > most}
            fields = {name: value for name, value in fields.items() if name not in over and value != before.get(name)}
        return type(self)(**fields | changes)

    @property
    def _default_classes_per_batch(self) -> int:
        """The default P, or the number of training classes if that is less."""
        default: int = type(self).model_fields["classes_per_batch"].default
        return min(default, len(self.train_classes))

    @model_validator(mode="before")
    @classmethod
    def _fill_recommended(cls, fields: Any) -> Any:
        if not isinstance(fields, Mapping):
            return fields
        params = fields.get("loss_params")
        loss = LOSSES[fields.get("loss", cls.model_fields["loss"].default)]
        loss = loss.for_params(params) if isinstance(params, Mapping) else loss
        dimensions = fields.get("embedding_dim", cls.model_fields["embedding_dim"].default)
        defaults = loss.recommended_in(dimensions if isinstance(dimensions, int) else 0)
        defaults = {"normalize": True, **defaults} if loss.on_sphere else defaults
        if "loss_params" in defaults and isinstance(params, Mapping):
            defaults["loss_params"] = {**defaults["loss_params"], **params}
            fields = {name: value for name, value in fields.items() if name != "loss_params"}
        if SAMPLERS[fields.get("sampler", defaults.get("sampler", cls.model_fields["sampler"].default))].tuple_kind:
            defaults.pop("miner", None)
        for name, most in DATASETS[fields.get("dataset", cls.model_fields["dataset"].default)].most.items():
            defaults[name] = min(defaults.get(name, cls.model_fields[name].default), most)
        return {**defaults, **fields}

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
            object.__setattr__(self, "classes_per_batch", self._default_classes_per_batch)
        _check_sampler(self, loss)
        if miner is None and self.miner_params:
            raise UserError(f"miner_params need a miner; got {self.miner_params} and no miner.")
        if miner is not None and miner.tuple_kind not in loss.tuple_kinds:
            miners = [entry.name for entry in MINERS.values() if entry.tuple_kind in loss.tuple_kinds]
            rule = f"takes {' or '.join(sorted(loss.tuple_kinds))}" if loss.tuple_kinds else "takes no miner"
            remedy = f"use {', '.join(miners)}, or no miner" if miners else "use no miner"
            raise UserError(f"{self.loss} {rule}; {self.miner} makes {miner.tuple_kind}: {remedy}.")
        _check_batch(self, loss)
        _check_space(self, loss)
        object.__setattr__(self, "loss_params", loss.with_defaults(self.loss_params))
        object.__setattr__(self, "miner_params", miner.with_defaults(self.miner_params) if miner else {})
        return self


class ProjectionConfig(Config):
    """Settings of a projection: method, engine, parameters, dimensions, seed; of a run also the step or all epochs."""

    method: str = Field("pca", description="projection method")
    engine: Engine = Field(
        "dmlviz", description="implementation of t-SNE and UMAP: dmlviz, or the reference (scikit-learn, umap-learn)"
    )
    params: dict[str, Any] = Field(default_factory=dict, description="parameters of the method")
    dims: Literal[2, 3] = Field(2, description="dimensions of the projection")
    seed: int = Field(0, ge=0, lt=2**31, description="random seed")
    step: int | None = Field(None, ge=0, description="training step to project (default: the last)")
    all_epochs: bool = Field(False, description="project every snapshot as an animation")

    @model_serializer(mode="wrap")
    def _omit_default_engine(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit the default engine: IDs are older than the field."""
        dumped: dict[str, Any] = write(self)
        if self.engine == "dmlviz":
            del dumped["engine"]
        return dumped

    @property
    def declared(self) -> ProjectionSpec:
        """The catalog entry of the method with this engine."""
        return declaration(self.method, self.engine)

    @property
    def resumable(self) -> bool:
        """Whether a stopped projection can continue: a single iterative layout by dmlviz."""
        return "iterations" in self.params and self.engine == "dmlviz" and not self.all_epochs

    @property
    def axes(self) -> tuple[int, ...]:
        """The principal components on the axes x, y (and z) of a PCA."""
        return tuple(self.params[name] for name in "xyz"[: self.dims])

    @model_validator(mode="after")
    def _complete(self) -> Self:
        object.__setattr__(self, "params", self.declared.with_defaults(self.params))
        if self.method == "pca" and len(set(self.axes)) < self.dims:
            raise UserError(f"PCA needs {self.dims} different components; got {', '.join(map(str, self.axes))}.")
        if self.all_epochs and self.declared.native:
            raise UserError(f"all_epochs is not for {self.declared.title}, which a run's replay shows already.")
        if self.params.get("min_dist", 0) > self.params.get("spread", 1):
            raise UserError(
                f"{self.declared.name}: min_dist must be at most spread; got {self.params['min_dist']:g} and "
                f"{self.params['spread']:g}."
            )
        return self


def _check_classes(config: TrainConfig) -> None:
    data, unseen = DATASETS[config.dataset], config.held_out_classes
    if data.size == 0 and config.steps:
        raise UserError(f"{data.title} holds precomputed embeddings and cannot be trained on; choose another data set.")
    last = len(data.classes) - 1
    unknown = [label for label in unseen if not 0 <= label <= last]
    if unknown:
        raise UserError(f"Class IDs of {data.title} run from 0 to {last}; got {unknown[0]} in held_out_classes.")
    if unseen and len(config.train_classes) < 2:
        raise UserError(
            f"Training needs at least 2 classes; held_out_classes leaves {len(config.train_classes)} of "
            f"{len(data.classes)}: hold out fewer."
        )


def _check_sampler(config: TrainConfig, loss: LossSpec) -> None:
    sampler = SAMPLERS[config.sampler]
    if not sampler.tuple_kind:
        return
    if config.miner is not None:
        raise UserError(
            f"{sampler.name} makes the {sampler.tuple_kind} itself; got the miner {config.miner}: use no miner."
        )
    if sampler.tuple_kind not in loss.tuple_kinds:
        rule = f"takes {' or '.join(sorted(loss.tuple_kinds))}" if loss.tuple_kinds else "takes whole batches"
        raise UserError(f"{loss.name} {rule}; {sampler.name} makes {sampler.tuple_kind}: use another sampler or loss.")


def _check_batch(config: TrainConfig, loss: LossSpec) -> None:
    images = config.effective_batch_size
    if images > MAX_BATCH_SIZE:
        raise UserError(
            f"A batch has at most {MAX_BATCH_SIZE} images; got {images}: use fewer classes or images per class."
        )
    if config.max_train_images is not None and config.max_train_images < images:
        raise UserError(
            f"A batch has {images} images; got max_train_images = {config.max_train_images}: use smaller batches."
        )
    if not SAMPLERS[config.sampler].by_class:
        if loss.needs_pairs and images < 4:
            raise UserError(f"{loss.name} needs at least 4 images per batch; got {images}: use batch_size ≥ 4.")
        return
    classes, seen, data = config.classes_per_batch, len(config.train_classes), DATASETS[config.dataset]
    if classes > seen:
        reason = f"{seen} of {len(data.classes)} are seen" if config.held_out_classes else f"{data.title} has {seen}"
        raise UserError(f"A batch has P = {classes} classes; {reason}: use classes_per_batch ≤ {seen}.")
    if not loss.needs_pairs:
        return
    if config.images_per_class < 2:
        raise UserError(
            f"{loss.name} needs at least 2 images of a class; got {images} images of {classes} classes: "
            f"use the balanced sampler with K = images_per_class ≥ 2."
        )
    if classes < 2:
        raise UserError(
            f"{loss.name} needs images of at least 2 classes; got {images} images of 1 class: "
            f"use the balanced sampler with P = classes_per_batch ≥ 2."
        )


def _check_space(config: TrainConfig, loss: LossSpec) -> None:
    if config.embedding_dim == 1 and (config.normalize or loss.on_sphere):
        embedding = "1-D embedding" if config.normalize else f"1-D embedding (by {loss.name})"
        raise UserError(f"A normalized {embedding} has only two points, −1 and 1; use embedding_dim ≥ 2.")


def _cause(problem: Any) -> Exception | None:
    """The error that a validator of ours raised, if one did."""
    cause: Exception | None = problem.get("ctx", {}).get("error")
    return cause


def _validation_message(model: type[BaseModel], problem: Any) -> str:
    cause = _cause(problem)
    if isinstance(cause, UserError):
        return str(cause)
    name = ".".join(one_line(str(part), 40) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"Unknown setting {name!r}; the settings are {', '.join(model.model_fields)}."
    message = problem["msg"][0].lower() + problem["msg"][1:]
    return f"{name}: {message}; got {brief(problem['input'])}."
