"""A batch as the loss saw it: kept for a few steps of a run, small, and readable without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from dmlviz.arrays import NUMBERS, WHOLE, read_arrays, reading, take
from dmlviz.config import TrainConfig

KEPT = 8  # batches of a run
BUDGET = 2_000_000  # bytes of all of them, before the file compresses them
MOST_IMAGES = 640  # of a batch: its distances are looked at one by one
MOST_TRIPLETS = 4096
NARROW = 8  # dimensions up to which embeddings are kept as they are

_SMALLEST = 1e-37  # of a scale: float32 has nothing below


def recorded_steps(config: TrainConfig) -> list[int]:
    """Which of a training's batches are kept: the first, the last, denser at the start; none where they are too large.

    A batch of 160 images in 64 dimensions weighs 41 kB before it is compressed.
    """
    images = config.batch_images
    weight = images * config.embedding_dim * (12 if config.embedding_dim <= NARROW else 4) + 30 * images
    count = min(KEPT, BUDGET // weight) if images <= MOST_IMAGES else 0
    if count < 2:
        return [1] * count
    return sorted({1 + round((config.steps - 1) * (i / (count - 1)) ** 2) for i in range(count)})


@dataclass(frozen=True, kw_only=True)
class SeenBatch:
    """One batch at `step`, as the loss saw it.

    `images` (n) are indices of training images, `labels` (n) their classes; `before`, `after` (n × d, float32) their
    embeddings before and after the step's update, `gradient` (n × d) that of the loss with respect to `before`. What a
    miner or a sampler selected is in `pairs` (n × n, true where row i is compared with column j; `anchored` where that
    has a direction) or in `triplets` (k × 3: anchor, positive, negative; evenly thinned where `mined` says there were
    more); neither where the loss saw the whole batch. `learned` holds the loss's own weights by name, a row for each of
    the config's `seen_classes`; `terms` (n) is its value for each image where it is a sum over images.
    """

    step: int
    loss: float
    active: float
    images: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    before: np.ndarray = field(repr=False)
    after: np.ndarray = field(repr=False)
    gradient: np.ndarray = field(repr=False)
    pairs: np.ndarray | None = field(default=None, repr=False)
    anchored: bool = False
    triplets: np.ndarray | None = field(default=None, repr=False)
    mined: int = 0
    learned: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    terms: np.ndarray | None = field(default=None, repr=False)

    def save(self, file: IO[bytes]) -> None:
        """Write compressed npz, no pickle: wide embeddings in 16 bits, movement and gradient in 8, a scale a row."""
        stored: dict[str, Any] = {
            "numbers": np.array([self.step, self.loss, self.active, self.anchored, self.mined], np.float64),
            "images": self.images.astype(np.int32),
            "labels": self.labels.astype(np.int32),
        }
        stored |= _packed("before", self.before, np.int16)
        stored |= _packed("moved", self.after - self.before, np.int8)
        stored |= _packed("gradient", self.gradient, np.int8)
        if self.pairs is not None:
            stored["pairs"] = np.packbits(self.pairs, axis=1)
        if self.triplets is not None:
            stored["triplets"] = self.triplets.astype(np.uint8 if len(self.labels) <= 256 else np.int16)
        if self.terms is not None:
            stored["terms"] = self.terms.astype(np.float32)
        for name, values in self.learned.items():
            stored |= _packed(f"learned.{name}", values, np.int16)
        np.savez_compressed(file, **stored)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote; raise DamagedFileError for anything else."""
        with reading(path):
            found = cls._read(path)
            if not found.whole:
                raise ValueError("its parts are not of one batch")
            return found

    @classmethod
    def _read(cls, path: Path) -> Self:
        stored = read_arrays(path, NUMBERS)
        step, loss, active, anchored, mined = stored["numbers"].tolist()
        labels = take(path, stored, "labels", WHOLE).astype(np.int64)
        before = _unpacked("before", stored)
        names = [name[8:] for name in stored if name.startswith("learned.") and not name.endswith(".scale")]
        pairs = take(path, stored, "pairs", "u") if "pairs" in stored else None
        return cls(
            step=int(step),
            loss=loss,
            active=active,
            images=take(path, stored, "images", WHOLE).astype(np.int64),
            labels=labels,
            before=before,
            after=before + _unpacked("moved", stored),
            gradient=_unpacked("gradient", stored),
            pairs=None if pairs is None else np.unpackbits(pairs, axis=1, count=len(labels)).astype(bool),
            anchored=bool(anchored),
            triplets=take(path, stored, "triplets", WHOLE).astype(np.int64) if "triplets" in stored else None,
            mined=int(mined),
            learned={name: _unpacked(f"learned.{name}", stored) for name in names},
            terms=stored.get("terms"),
        )

    @property
    def whole(self) -> bool:
        """Whether its parts are of one batch."""
        n, triplets = len(self.labels), self.triplets
        return (
            self.before.ndim == 2
            and self.before.shape == self.after.shape == self.gradient.shape
            and len(self.before) == len(self.images) == n
            and (self.terms is None or self.terms.shape == (n,))
            and (self.pairs is None or self.pairs.shape == (n, n))
            and (triplets is None or (triplets.ndim == 2 and triplets.shape[1] == 3 and _below(triplets, n)))
            and 0 < n <= MOST_IMAGES
            and _below(self.images, 1 << 31)
            and bool(np.isfinite([self.loss, self.active]).all())
            and all(bool(np.isfinite(part).all()) for part in (self.before, self.after, self.gradient))
            and all(values.ndim <= 2 and np.isfinite(values).all() for values in self.learned.values())
        )


def _packed(name: str, values: np.ndarray, kind: type) -> dict[str, np.ndarray]:
    """Wide rows as whole numbers with one scale each; what is narrow or no matrix stays float32."""
    if values.ndim != 2 or values.shape[1] <= NARROW:
        return {name: values.astype(np.float32)}
    largest = np.abs(values).max(axis=1, keepdims=True, initial=0.0).astype(np.float64)
    scale = np.maximum(largest / np.iinfo(kind).max, _SMALLEST)
    return {name: np.rint(values / scale).astype(kind), f"{name}.scale": scale.astype(np.float32)}


def _below(indices: np.ndarray, end: int) -> bool:
    return indices.size == 0 or bool(0 <= indices.min() <= indices.max() < end)


def _unpacked(name: str, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    values, scale = stored[name], f"{name}.scale"
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
        return values.astype(np.float32) * stored[scale] if scale in stored else values.astype(np.float32)
