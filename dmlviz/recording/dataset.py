"""The images and labels of a recording as a data set, so that the app shows and compares its runs as any others."""

import hashlib
from pathlib import Path

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.data.class_names import UNLABELED


def recorded_dataset(
    title: str, images: np.ndarray | None, labels: np.ndarray, classes: tuple[str, ...]
) -> DatasetSpec:
    """Return the catalog entry; equal images and labels are one data set for every training.

    Args:
        title: Title of the data set.
        images: uint8, n × s × s or n × s × s × 3; None without any.
        labels: Class IDs (n).
        classes: Class names, by label.
    """
    digest = hashlib.sha256("\0".join(("recorded", *classes)).encode())
    digest.update(np.ascontiguousarray(labels, np.int64).data)
    side, channels, mean, std = 0, 1, 0.0, 1.0
    if images is not None:
        digest.update(f"{images.shape}".encode())
        digest.update(np.ascontiguousarray(images).data)
        side, channels = images.shape[1], 1 if images.ndim == 3 else 3
        mean, std = _mean_and_deviation(images)
    what = "embeddings" if images is None else f"pictures, {side} × {side},"
    named = sum(name != UNLABELED for name in classes)
    of = f"of {named:,} classes" if named else "without labels"
    return DatasetSpec(
        name=custom_datasets.PREFIX + digest.hexdigest()[:16],
        title=title,
        summary=f"Recorded from another program: {len(labels):,} {what} {of}.",
        classes=classes,
        size=side,
        channels=channels,
        mean=round(mean, 4),
        std=round(std, 4),
        trainable=False,
    )


def _mean_and_deviation(images: np.ndarray) -> tuple[float, float]:
    """Return those of all pixels, from 0 to 1, without a copy of the images as floats."""
    counts = sum((np.bincount(image.ravel(), minlength=256) for image in images), np.zeros(256, np.int64))
    shares, values = counts / counts.sum(), np.arange(256) / 255
    mean = float(shares @ values)
    return mean, max(float(shares @ (values - mean) ** 2) ** 0.5, 1e-2)


def save_images(spec: DatasetSpec, images: np.ndarray, labels: np.ndarray, root: Path) -> None:
    """Put the images of a recording into a data folder; raise UserError where that is not possible."""
    none = {"train_images": images[:0], "train_labels": labels[:0]}
    parts = none | {"test_images": images, "test_labels": labels}
    custom_datasets.save(root, spec.name, spec.to_dict(), parts)
