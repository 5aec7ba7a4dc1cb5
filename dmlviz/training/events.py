"""What a training says while it happens."""

from dataclasses import dataclass, field

import numpy as np

from dmlviz.training.batch_record import BatchRecord


@dataclass(frozen=True, kw_only=True)
class Started:
    """The first event. `tracked` holds the test images (indices) that every snapshot embeds."""

    steps: int
    tracked_indices: np.ndarray
    train_images: int
    test_images: int
    device: str
    threads: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """One batch: its loss, the share of its terms that were active, mean distances within and between classes."""

    step: int
    loss: float
    active_fraction: float
    positive_distance: float
    negative_distance: float
    images_per_second: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The tracked images after `step` batches: float32 embeddings (n × d) and their scores among themselves.

    `centers` are the loss's own class centers (k × d), where it has any; of class weights the directions. Of a training
    with unseen classes the scores are also given apart, as `seen/…` and `unseen/…`. A few of the snapshots, spread
    evenly, hold the net's `weights` too, unless it is large.
    """

    step: int
    embeddings: np.ndarray
    metrics: dict[str, float]
    net_weights: dict[str, np.ndarray] | None = field(default=None, repr=False)
    class_centers: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The end: every test image embedded (n × d), scored, and the net's weights."""

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
    """As Finished, but earlier than asked: `reason` says whether by hand or by max_seconds."""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """No further event comes: the sentence that says why."""

    step: int
    reason: str


Event = Started | Step | BatchRecord | Snapshot | Finished | Stopped | Failed
