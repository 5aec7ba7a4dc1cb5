"""Events yielded by `train()`."""

from dataclasses import dataclass, field

import numpy as np

from dmlviz.training.batch_record import BatchRecord


@dataclass(frozen=True, kw_only=True)
class Started:
    """The first event; `tracked_indices` are the test images that every snapshot embeds."""

    steps: int
    tracked_indices: np.ndarray
    train_images: int
    test_images: int
    device: str
    threads: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """One batch: its loss, the fraction of active loss terms, mean distances within and between classes.

    `terms_per_image` is how many loss terms the batch had for each of its images.
    """

    step: int
    loss: float
    active_fraction: float
    positive_distance: float
    negative_distance: float
    images_per_second: float
    cpu_seconds: float
    terms_per_image: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The tracked test images after `step` batches.

    Attributes:
        step: batches trained so far.
        embeddings: embeddings of the tracked images (n × d, float32).
        metrics: their scores; with held-out classes also as `seen/…` and `unseen/…`.
        net_weights: the net's weights by name, in a few evenly spread snapshots of a net that is not large.
        class_centers: centers that the loss learns (k × d; of class weights the directions), if any.
    """

    step: int
    embeddings: np.ndarray
    metrics: dict[str, float]
    net_weights: dict[str, np.ndarray] | None = field(default=None, repr=False)
    class_centers: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The end: embeddings of all test images (n × d), their scores, and the net's weights."""

    step: int
    embeddings: np.ndarray
    metrics: dict[str, float]
    net_weights: dict[str, np.ndarray] = field(repr=False)
    cpu_seconds: float
    seconds: float
    class_centers: np.ndarray | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Stopped(Finished):
    """Finished before the last step; `reason` is the user's stop or max_seconds."""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """The end of a training that diverged; `reason` is one sentence."""

    step: int
    reason: str


Event = Started | Step | BatchRecord | Snapshot | Finished | Stopped | Failed
