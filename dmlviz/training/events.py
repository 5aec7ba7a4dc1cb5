"""Events yielded by `train()`."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dmlviz.storage.run_schema.validation import Precision, TupleKind
from dmlviz.training.batch_record import BatchRecord


@dataclass(frozen=True, kw_only=True)
class Started:
    """The first event.

    Attributes:
        steps: Batches of the whole training; None if unknown.
        tracked_indices: The test images that every snapshot embeds.
        train_images: Number of images that batches are made of.
        test_images: Number of test images.
        device: The torch device.
        threads: Torch's threads.
        precision: "float32", or in mixed precision what the net computes with: "bfloat16" or "float16".
        validation_images: Number of training images held out to be scored; with 0 snapshots score test images.
        scored_indices: Those that every snapshot scores, as indices into the data set's training images.
        validation_tuples: Number of comparisons of the validation loss; 0 for none.
        tuple_kind: Kind of these comparisons.
        weight_bytes: Bytes of the weights that are saved at the end.
    """

    steps: int | None
    tracked_indices: np.ndarray
    train_images: int
    test_images: int
    device: str
    threads: int
    precision: Precision = "float32"
    validation_images: int = 0
    scored_indices: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    validation_tuples: int = 0
    tuple_kind: TupleKind = "triplets"
    weight_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Step:
    """One batch: its loss, the fraction of active loss terms, mean distances within and between classes.

    `terms_per_image` is how many loss terms the batch had for each of its images.
    """

    step: int
    loss: float
    active: float
    positive_distance: float
    negative_distance: float
    images_per_second: float
    cpu_seconds: float
    terms_per_image: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The tracked test images after `step` batches.

    Attributes:
        step: Batches trained so far.
        embeddings: Embeddings of the tracked images (n × d, float32).
        metrics: Scores of the validation images `Started.scored_indices`, or of the tracked test images if there are
            none; with held-out classes also as `seen/…` and `unseen/…`.
        train_metrics: In every fifth snapshot, from the second on, scores of as many training images of each class as
            are scored of the validation images.
        net_weights: The net's weights by name, in a few evenly spread snapshots of a net that is not large; of a
            backbone those that are trained.
        read_weights: In all others, gives the same until the training goes on.
        centers: Centers that the loss learns (k × d; of class weights the directions), if any.
        grid: Embeddings of a grid of the plane (see `dmlviz.ops.dots.grid`), where the images are its points.
        validation_loss: The loss on the comparisons of validation images that were drawn at the start, if any.
    """

    step: int
    embeddings: np.ndarray
    metrics: dict[str, float]
    net_weights: dict[str, np.ndarray] | None = field(default=None, repr=False)
    read_weights: Callable[[], dict[str, np.ndarray]] | None = field(default=None, repr=False)
    centers: np.ndarray | None = None
    grid: np.ndarray | None = field(default=None, repr=False)
    train_metrics: dict[str, float] = field(default_factory=dict)
    validation_loss: float | None = None


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """The training ends after `step` batches, before the last one; its test images are embedded and scored next."""

    step: int


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """All test images after the last batch, before they are scored.

    Attributes:
        step: Batches trained.
        embeddings: Embeddings of all test images (n × d, float32).
        net_weights: The net's weights by name.
        loss_weights: The learned weights of the loss by name; empty for most losses.
        centers: As in snapshots.
        grid: As in snapshots.
    """

    step: int
    embeddings: np.ndarray
    net_weights: dict[str, np.ndarray] = field(repr=False)
    loss_weights: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    centers: np.ndarray | None = None
    grid: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Finished(Embedded):
    """The end: what `Embedded` has, and the scores of all test images.

    `validation_metrics` are the scores of all validation images, to choose by; `train_metrics` are those of training
    images, as in snapshots. Both are empty without validation images. `validation_loss` is as in snapshots.
    """

    metrics: dict[str, float]
    cpu_seconds: float
    seconds: float
    reason: str = ""
    validation_metrics: dict[str, float] = field(default_factory=dict)
    train_metrics: dict[str, float] = field(default_factory=dict)
    validation_loss: float | None = None


@dataclass(frozen=True, kw_only=True)
class Stopped(Finished):
    """Finished before the last step; `reason` is the user's stop or max_seconds.

    After a user's stop fewer test images search all others, and what takes long is not computed: the full ranking,
    verification, and the probes of a training without labels, which are NaN.
    """


@dataclass(frozen=True, kw_only=True)
class Failed:
    """The end of a training that diverged, or that could not begin or go on; `reason` is one sentence."""

    step: int
    reason: str
    diverged: bool = True


Event = Started | Step | BatchRecord | Snapshot | Stopping | Embedded | Finished | Stopped | Failed
