"""Recorded training batches: embeddings, gradients and mined tuples of up to eight steps of a run, without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.storage.arrays import NUMBERS, WHOLE, read_arrays, reading, take

NUM_RECORDED = 8  # batches per run
MAX_TOTAL_BYTES = 2_000_000  # of all batches of a run, before compression
MAX_IMAGES = 640  # per batch: the page shows every distance
MAX_TRIPLETS = 4096
MAX_DIMS_UNCOMPRESSED = 8  # wider embeddings are quantized

_MIN_SCALE = 1e-37  # about the smallest normal float32


def recorded_steps(config: TrainConfig) -> list[int]:
    """Return the steps whose batches are recorded: first, last, denser at the start; none if batches are too large.

    A batch of 160 images in 64 dimensions weighs 41 kB before it is compressed, without augmented pictures.
    """
    images = config.effective_batch_size * config.views
    weight = images * config.loss_dim * (12 if config.loss_dim <= MAX_DIMS_UNCOMPRESSED else 4) + 30 * images
    if config.augmentation:
        weight += images * DATASETS[config.dataset].size ** 2 * DATASETS[config.dataset].channels
    count = min(NUM_RECORDED, MAX_TOTAL_BYTES // weight) if images <= MAX_IMAGES else 0
    if count < 2:
        return [1] * count
    return sorted({1 + round((config.steps - 1) * (i / (count - 1)) ** 2) for i in range(count)})


@dataclass(frozen=True, kw_only=True)
class BatchRecord:
    """One training batch. With neither `pairs` nor `triplets` the loss used the whole batch.

    Attributes:
        step: The number of the batch, from 1.
        loss: The value of the loss.
        active: The fraction of active loss terms.
        images: Indices of the training images (n).
        labels: Their classes (n).
        embeddings_before: Embeddings before the update (n × d, float32).
        embeddings_after: Embeddings after the update (n × d, float32).
        gradient: Gradient of the loss with respect to `embeddings_before` (n × d).
        pairs: Pairs from a miner or sampler (n × n, True where row i is compared with column j).
        is_anchored: Whether the pairs have a direction.
        triplets: Triplets from a miner or sampler (k × 3: anchor, positive, negative), evenly thinned to MAX_TRIPLETS.
        num_mined: The number of tuples before thinning.
        loss_weights: The loss's parameters and buffers by name; one row per class of the config's `train_classes`.
        loss_per_image: The loss of each image (n), for losses that are a sum over images.
        pixels: The augmented images as the net saw them (uint8, n × h × w or n × h × w × 3); None where they are those
            of the data set.
    """

    step: int
    loss: float
    active: float
    images: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    embeddings_before: np.ndarray = field(repr=False)
    embeddings_after: np.ndarray = field(repr=False)
    gradient: np.ndarray = field(repr=False)
    pairs: np.ndarray | None = field(default=None, repr=False)
    is_anchored: bool = False
    triplets: np.ndarray | None = field(default=None, repr=False)
    num_mined: int = 0
    loss_weights: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    loss_per_image: np.ndarray | None = field(default=None, repr=False)
    pixels: np.ndarray | None = field(default=None, repr=False)

    def compared_labels(self, config: TrainConfig) -> np.ndarray:
        """Return what the loss took for the images' classes (n): without labels, the number of the image itself."""
        return self.labels if config.use_labels else self.images

    def save(self, file: IO[bytes]) -> None:
        """Write a compressed npz without pickle.

        Wide embeddings are int16, movement and gradient int8, with one scale per row.
        """
        arrays: dict[str, Any] = {
            "numbers": np.array([self.step, self.loss, self.active, self.is_anchored, self.num_mined], np.float64),
            "images": self.images.astype(np.int32),
            "labels": self.labels.astype(np.int32),
        }
        arrays |= _quantize("before", self.embeddings_before, np.int16)
        arrays |= _quantize("moved", self.embeddings_after - self.embeddings_before, np.int8)
        arrays |= _quantize("gradient", self.gradient, np.int8)
        if self.pairs is not None:
            arrays["pairs"] = np.packbits(self.pairs, axis=1)
        if self.triplets is not None:
            arrays["triplets"] = self.triplets.astype(np.uint8 if len(self.labels) <= 256 else np.int16)
        if self.loss_per_image is not None:
            arrays["terms"] = self.loss_per_image.astype(np.float32)
        if self.pixels is not None:
            arrays["pixels"] = self.pixels
        for name, values in self.loss_weights.items():
            arrays |= _quantize(f"learned.{name}", values, np.int16)
        np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the output of `save`; raise DamagedFileError for anything else."""
        with reading(path):
            batch = cls._read(path)
            if not batch.is_consistent:
                raise ValueError("its parts are not of one batch")
            return batch

    @classmethod
    def _read(cls, path: Path) -> Self:
        arrays = read_arrays(path, NUMBERS)
        step, loss, active, is_anchored, num_mined = arrays["numbers"].tolist()
        labels = take(path, arrays, "labels", WHOLE).astype(np.int64)
        before = _dequantize("before", arrays)
        names = [name[8:] for name in arrays if name.startswith("learned.") and not name.endswith(".scale")]
        pairs = take(path, arrays, "pairs", "u") if "pairs" in arrays else None
        return cls(
            step=int(step),
            loss=loss,
            active=active,
            images=take(path, arrays, "images", WHOLE).astype(np.int64),
            labels=labels,
            embeddings_before=before,
            embeddings_after=before + _dequantize("moved", arrays),
            gradient=_dequantize("gradient", arrays),
            pairs=None if pairs is None else np.unpackbits(pairs, axis=1, count=len(labels)).astype(bool),
            is_anchored=bool(is_anchored),
            triplets=take(path, arrays, "triplets", WHOLE).astype(np.int64) if "triplets" in arrays else None,
            num_mined=int(num_mined),
            loss_weights={name: _dequantize(f"learned.{name}", arrays) for name in names},
            loss_per_image=arrays.get("terms"),
            pixels=take(path, arrays, "pixels", "u") if "pixels" in arrays else None,
        )

    @property
    def is_consistent(self) -> bool:
        """Return whether shapes, indices and values fit together."""
        n, triplets = len(self.labels), self.triplets
        return (
            self.embeddings_before.ndim == 2
            and self.embeddings_before.shape == self.embeddings_after.shape == self.gradient.shape
            and len(self.embeddings_before) == len(self.images) == n
            and (self.loss_per_image is None or self.loss_per_image.shape == (n,))
            and (self.pairs is None or self.pairs.shape == (n, n))
            and (self.pixels is None or _are_pictures(self.pixels, n))
            and (triplets is None or (triplets.ndim == 2 and triplets.shape[1] == 3 and _all_below(triplets, n)))
            and 0 < n <= MAX_IMAGES
            and _all_below(self.images, 1 << 31)
            and bool(np.isfinite([self.loss, self.active]).all())
            and all(
                bool(np.isfinite(part).all()) for part in (self.embeddings_before, self.embeddings_after, self.gradient)
            )
            and all(values.ndim <= 2 and np.isfinite(values).all() for values in self.loss_weights.values())
        )


def _quantize(name: str, values: np.ndarray, kind: type) -> dict[str, np.ndarray]:
    """Quantize wide rows to integers with one scale each; keep narrow matrices and vectors as float32."""
    if values.ndim != 2 or values.shape[1] <= MAX_DIMS_UNCOMPRESSED:
        return {name: values.astype(np.float32)}
    largest = np.abs(values).max(axis=1, keepdims=True, initial=0.0).astype(np.float64)
    scale = np.maximum(largest / np.iinfo(kind).max, _MIN_SCALE)
    return {name: np.rint(values / scale).astype(kind), f"{name}.scale": scale.astype(np.float32)}


def _are_pictures(pixels: np.ndarray, n: int) -> bool:
    """Return whether these are n square gray or color images of one size."""
    shape = pixels.shape
    is_picture = pixels.ndim in (3, 4) and shape[1] == shape[2] > 0 and shape[3:] in ((), (3,))
    return pixels.dtype == np.uint8 and is_picture and shape[0] == n


def _all_below(indices: np.ndarray, end: int) -> bool:
    return indices.size == 0 or bool(0 <= indices.min() <= indices.max() < end)


def _dequantize(name: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    values, scale = arrays[name], f"{name}.scale"
    with np.errstate(over="ignore", invalid="ignore"):  # non-finite values are refused later
        return values.astype(np.float32) * arrays[scale] if scale in arrays else values.astype(np.float32)
