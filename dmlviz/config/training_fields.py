"""The settings of a training: what they are."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticKnownError

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS, SAMPLERS, SamplerSpec, check_strengths
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.parameters import Fields, LossSpec
from dmlviz.config.base import Config

MAX_IMAGES = 10_000_000  # more than any data set has


def _class_ids(value: Any) -> Any:
    """Return sorted unique class IDs; accepts text such as "7,8,9"."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    try:
        return tuple(sorted({int(label) if isinstance(label, str) else label for label in value}))
    except (TypeError, ValueError):
        return value  # the validation of the field reports it


def _coerce_steps(steps: int, info: ValidationInfo) -> int:
    """Require at least 1 step; 0 is for what another program has embedded."""
    dataset = info.data.get("dataset", "")
    min_steps = 1 if not dataset or DATASETS[dataset].trainable else 0
    if steps < min_steps:
        raise PydanticKnownError("greater_than_equal", {"ge": min_steps})
    return steps


class TrainFields(Config):
    """Data, net, loss, miner, batches, optimizer, length; `TrainConfig` checks that they go together."""

    dataset: str = Field(default="mnist", description="data set")
    max_train_images: int | None = Field(
        default=None, ge=10, le=MAX_IMAGES, description="use only the first N training images (default: all)"
    )
    held_out_classes: Annotated[tuple[int, ...], BeforeValidator(_class_ids)] = Field(
        default=(),
        description="classes held out of training, by name or number, e.g. 7,8,9; adds separate scores for seen and "
        "unseen classes",
    )

    corrections: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{16}$",
        description="revision of the corrections of the training labels (see `dmlviz clean`); latest: those so far",
    )

    label_noise: float = Field(
        default=0.0, ge=0, le=0.9, description="share of the training labels that are replaced by a random other class"
    )

    imbalance: float = Field(
        default=1.0,
        ge=1,
        le=1000,
        description="how many times as many training images the first class keeps as the last, of a long tail in "
        "between; 1: all images",
    )

    net: str = Field(default="small", description="embedding net")
    embedding_dim: int = Field(default=64, ge=1, le=4096, description="dimensions of the embedding")
    normalize: bool = Field(default=True, description="L2-normalize the embeddings")
    space: Literal["euclidean", "poincare"] = Field(
        default="euclidean",
        description="space of the embeddings and of all distances; poincare: the Poincaré ball, where the exponential "
        "map brings what the net gives",
    )
    curvature: float = Field(default=1.0, gt=0, le=100, description="curvature c of the Poincaré ball, of radius 1/√c")
    clip_radius: float = Field(
        default=2.3, gt=0, le=100, description="length to which features are clipped before they enter the ball"
    )
    unfrozen_blocks: int = Field(
        default=0,
        ge=0,
        le=100,
        description="last blocks of the pretrained backbone that are trained, too; for data sets of features",
    )
    backbone_rate: float = Field(
        default=0.01, gt=0, le=10, description="learning rate of the unfrozen blocks, as a share of the head's"
    )
    frozen_batch_norm: bool = Field(
        default=False,
        description="keep statistics and weights of the net's batch normalization as they are at the start; a net that "
        "begins untrained has no normalization then",
    )
    projection_dim: int = Field(
        default=0,
        ge=0,
        le=4096,
        description="dimensions of a projection head, on which the loss is computed and which is dropped afterwards; "
        "all scores and maps are of the embeddings before it; 0: none",
    )

    bn_neck: bool = Field(
        default=False,
        description="batch normalization without a shift after the net: of a sum of two losses the one on images sees "
        "what enters it; the one with class weights, scores and maps see what comes out",
    )

    prefixes: Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], BeforeValidator(_class_ids)] = Field(
        default=(),
        description="lengths of the embedding's beginnings on which the loss is computed, too (Matryoshka), e.g. "
        "2,8,32: an embedding that can be cut",
    )

    use_labels: bool = Field(
        default=True,
        description="whether loss and miner see the class labels; without them the views of an image are its positives",
    )
    views: int = Field(default=1, ge=1, le=8, description="augmented copies of each image in a batch")
    augmentation: Annotated[dict[str, float], BeforeValidator(check_strengths)] = Field(
        default_factory=dict, description="random changes of the images of a batch, e.g. rotate=15"
    )

    loss: str = Field(default="nt_xent", description="loss function")
    loss_params: Fields = Field(default_factory=dict, description="loss parameters")
    second_labels: str = Field(
        default="",
        max_length=40,
        description="labels that the second loss of a sum sees, e.g. model of identities (default: the classes)",
    )
    miner: str | None = Field(default=None, description="miner (default: all pairs or triplets of the batch)")
    miner_params: Fields = Field(default_factory=dict, description="miner parameters")

    memory: int = Field(
        default=0,
        ge=0,
        le=65_536,
        description="embeddings of earlier batches that the images of a batch are compared with, too: a cross-batch "
        "memory; 0: none",
    )

    sampler: str = Field(default="balanced", description="batch sampler")
    classes_per_batch: int = Field(default=10, ge=1, le=1000, description="classes per balanced batch (P)")
    images_per_class: int = Field(default=16, ge=1, le=1000, description="images per class in a balanced batch (K)")
    batch_size: int = Field(default=160, ge=1, le=4096, description="batch size of the other samplers")

    optimizer: Literal["adam", "sgd", "rmsprop"] = Field(default="adam", description="optimizer")
    learning_rate: float = Field(default=4e-3, gt=0, le=10, description="initial learning rate")
    loss_learning_rate: float | None = Field(
        default=None, gt=0, le=10, description="learning rate of the loss parameters (default: learning_rate)"
    )
    schedule: Literal["constant", "cosine", "linear", "step"] = Field(
        default="cosine", description="learning-rate schedule"
    )
    decay_epochs: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="epochs after which the learning rate falls, again and again, in the schedule step; 0: after each "
        "third of the steps",
    )
    decay_factor: float = Field(
        default=0.1, gt=0, le=1, description="what the learning rate is multiplied with where it falls in steps"
    )
    warmup_steps: int = Field(
        default=0, ge=0, le=1_000_000, description="first steps, in which the learning rate rises to its value"
    )
    momentum: float = Field(default=0.9, ge=0, lt=1, description="momentum of SGD")
    weight_decay: float = Field(default=0.0, ge=0, le=1, description="weight decay")
    steps: Annotated[int, AfterValidator(_coerce_steps)] = Field(
        default=600, le=1_000_000, description="number of training steps"
    )
    mixed_precision: bool = Field(
        default=False,
        description="compute the net with 16-bit numbers and keep its weights with 32: faster on a GPU, and on "
        "processors with instructions for bfloat16",
    )
    max_seconds: float | None = Field(default=None, gt=0, description="time limit in seconds (default: none)")
    seed: int = Field(default=0, ge=0, lt=2**31, description="random seed (initial weights and batches)")

    validation_fraction: float = Field(
        default=0.1,
        ge=0,
        le=0.5,
        description="share of the training images held out of training, on which scores are computed meanwhile; "
        "0: on test images",
    )
    eval_subset_size: int = Field(
        default=2000, ge=2, le=MAX_IMAGES, description="number of test images embedded at each snapshot; all at the end"
    )
    num_snapshots: int = Field(default=60, ge=1, le=1000, description="number of snapshots")

    @property
    def train_classes(self) -> tuple[int, ...]:
        """Class IDs used for training, ascending."""
        unseen = set(self.held_out_classes)
        return tuple(label for label in DATASETS[self.dataset].trainable_classes if label not in unseen)

    @property
    def dataset_spec(self) -> DatasetSpec:
        """The spec of the data set."""
        return DATASETS[self.dataset]

    @property
    def sampler_spec(self) -> SamplerSpec:
        """The spec of the sampler."""
        return SAMPLERS[self.sampler]

    @property
    def takes_features(self) -> bool:
        """Whether the net takes features that a backbone computed once."""
        return self.dataset_spec.features is not None and not self.unfrozen_blocks

    @property
    def ball(self) -> float:
        """The curvature of the ball that the embeddings lie in; 0 where they lie in the Euclidean space."""
        return self.curvature if self.space == "poincare" else 0.0

    @property
    def embedding(self) -> dict[str, Any]:
        """What a net is built with beside its input: dimensions of the embedding, where it lies, its BNNeck."""
        names = ("embedding_dim", "normalize", "clip_radius", "bn_neck")
        return {"curvature": self.ball, **{name: getattr(self, name) for name in names}}

    @property
    def loss_dim(self) -> int:
        """Dimensions of what the loss sees: the embedding, or the projection head's output."""
        return self.projection_dim or self.embedding_dim

    @property
    def loss_spec(self) -> LossSpec:
        """The spec of the loss with its parameters; a sum's second loss takes no tuples where it sees other labels."""
        spec = LOSSES[self.loss].for_params(self.loss_params)
        if not self.second_labels or not spec.parts(self.loss_params):
            return spec
        return replace(spec, tuple_kinds=LOSSES[self.class_losses["a"][0]].tuple_kinds)

    @property
    def class_losses(self) -> dict[str, tuple[str, Fields]]:
        """Name and parameters of the losses of a sum that see the classes, by side; empty for a loss that is no sum."""
        parts = LOSSES[self.loss].parts(self.loss_params)
        return {side: part for side, part in parts.items() if side == "a" or not self.second_labels}

    @property
    def effective_batch_size(self) -> int:
        """Different images per batch; the net sees `views` copies of each."""
        sampler = SAMPLERS[self.sampler]
        if sampler.by_class:
            return self.classes_per_batch * self.images_per_class
        return self.batch_size - self.batch_size % {"pairs": 2, "triplets": 3}.get(sampler.tuple_kind, 1)
