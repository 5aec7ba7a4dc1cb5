"""Arguments of `dmlviz.record` as NumPy arrays, and their data set; invalid ones are refused in one sentence."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.data.class_names import MAX_NAME, UNLABELED
from dmlviz.errors import UserError
from dmlviz.ops import labels as class_labels
from dmlviz.ops.precision import is_read_alone, narrowed, plain_array, to_numbers
from dmlviz.storage.run_schema.validation import MAX_STEPS
from dmlviz.storage.text import one_line


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


MAX_CLASSES = 65_535  # the page has two bytes for each label
MAX_DIMENSIONS = 4096


class NotFiniteError(UserError):
    """Embeddings that hold NaN or infinity."""


def to_numpy(values: Any) -> np.ndarray:
    """Return a PyTorch tensor, on any device and of any type, or anything that NumPy accepts, as an array.

    Raises:
        UserError: For a list whose items have different shapes.
    """
    if hasattr(values, "detach"):
        return plain_array(values)
    if hasattr(values, "toarray") or np.ma.is_masked(values):
        return to_numbers(values)
    if isinstance(values, list | tuple):
        values = [
            None if value is np.ma.masked else to_numpy(value) if is_read_alone(value) else value for value in values
        ]
    try:
        return np.asarray(values)
    except ValueError:
        raise UserError(
            f"A list holds items of one shape; got {len(values):,} items of different shapes: join batches, as with "
            "torch.cat, and scale images to one size."
        ) from None


def count_of(values: Any) -> int:
    """Return how many rows there are in embeddings or images; 0 for what has none."""
    if hasattr(values, "shape"):
        return int(values.shape[0]) if len(values.shape) else 0
    return len(values) if hasattr(values, "__len__") else 0


def read_labels(labels: Any, classes: Sequence[Any] | None, count: int = 0) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return class IDs from 0 and the names of the classes.

    Args:
        labels: Whole numbers (n) or texts; those that are missing are of the last class, `UNLABELED`. None for images
            without labels, which are of that class alone.
        classes: The class names, by label; by default the labels that occur, in ascending order.
        count: The number of images, n, where there are no labels.

    Returns:
        Class IDs (n, int64) and names.

    Raises:
        UserError: For anything else, or labels of fewer than 2 classes.
    """
    if labels is None:
        return _without_labels(classes, count)
    ids, names = class_labels.read_labels(labels, missing=True)
    if len(ids) < 2:
        raise UserError(f"Labels hold one class for each of at least 2 images; got {len(ids)}: pass more.")
    if classes is None and class_labels.are_flags(labels):
        names = names.astype(bool)
    if classes is not None:
        if len(names) and (names.dtype == object or names[0] < 0 or names[-1] >= len(classes)):
            raise UserError(
                f"With classes, labels are numbers from 0 to {len(classes) - 1}; got {_range(names)}: leave classes "
                "out, or name every class."
            )
        ids, names = np.append(names, -1)[ids], np.array([str(name) for name in classes], object)
    if not 2 <= len(names) <= MAX_CLASSES:
        raise UserError(
            f"A run has 2 to {MAX_CLASSES:,} classes; got {len(names):,}: "
            f"{'record images of more classes' if len(names) < 2 else 'use fewer'}."
        )
    texts = (name.decode(errors="replace") if isinstance(name, bytes) else str(name) for name in names.tolist())
    words = tuple(one_line(text, MAX_NAME) or "unnamed" for text in texts)
    known = ids >= 0
    return np.where(known, ids, len(words)).astype(np.int64), words if known.all() else (*words, UNLABELED)


def _without_labels(classes: Sequence[Any] | None, count: int) -> tuple[np.ndarray, tuple[str, ...]]:
    if classes is not None:
        raise UserError(
            f"Classes are the names of labels; got {len(classes):,} names and no labels: pass both or none."
        )
    if count < 2:
        raise UserError(f"A map has 2 points or more; got {count:,}: pass more.")
    return np.zeros(count, np.int64), (UNLABELED,)


def _range(names: np.ndarray) -> str:
    return "texts" if isinstance(names[0], str) else f"{names[0]} to {names[-1]}"


def read_embeddings(embeddings: Any, step: int, count: int, dimensions: int | None) -> np.ndarray:
    """Return a copy of the embeddings of a snapshot, as float32 where that holds their distances, else as float64.

    Args:
        embeddings: Embeddings (n × d).
        step: The step, for the message.
        count: The number of images, n.
        dimensions: The d of the snapshots before; None in the first.

    Raises:
        UserError: If the shape is another, or a value is not finite.
    """
    array = to_numbers(to_numpy(embeddings))
    if array.ndim != 2 or len(array) != count:
        is_batches = array.ndim == 3 and array.shape[0] * array.shape[1] == count
        what_to_do = "join the batches, as with torch.cat" if is_batches else "embed the same images every time"
        raise UserError(
            f"A snapshot holds one embedding for each of the {count:,} images, as {count:,} × d numbers; got shape "
            f"{array.shape} at step {step:,}: {what_to_do}."
        )
    if array.dtype.kind not in "fiub":
        raise UserError(f"Embeddings are numbers; got {array.dtype} at step {step:,}: pass an array of floats.")
    if not 1 <= array.shape[1] <= MAX_DIMENSIONS:
        raise UserError(
            f"Embeddings have 1 to {MAX_DIMENSIONS:,} dimensions; got {array.shape[1]:,} at step {step:,}: project "
            "them first."
        )
    if dimensions not in (None, array.shape[1]):
        raise UserError(
            f"All snapshots of a run have the same number of dimensions; got {array.shape[1]} at step {step:,} after "
            f"{dimensions} before: begin another recording."
        )
    copy = narrowed(to_numbers(array)).copy()
    usable = (np.abs(copy) < np.float64(1e150)).all(axis=1)  # beyond, squares overflow
    if not usable.all():
        bad = int((~usable).sum())
        raise NotFiniteError(
            f"Embeddings are finite; got NaN or infinity in {bad:,} of {count:,} rows at step {step:,} (or numbers "
            "beyond 1e150): lower the learning rate, or normalize the embeddings."
        )
    return copy


def check_step(step: Any, last: int | None) -> int:
    """Return the number of a step, which must rise; raise UserError for any other."""
    if isinstance(step, bool) or not hasattr(step, "__index__"):
        raise UserError(f"A step is a whole number; got {step!r}: count the batches, or the epochs.")
    number = int(step.__index__())
    if not 0 <= number <= MAX_STEPS:
        raise UserError(f"Steps run from 0 to {MAX_STEPS:,}; got {number:,}: count epochs instead of batches.")
    if last is not None and number <= last:
        raise UserError(f"Steps rise; got step {number:,} after step {last:,}: count on, or begin another recording.")
    return number


def check_number(name: str, value: Any) -> float | None:
    """Return a number, or a tensor with one, as a float; None stays None."""
    if value is None:
        return None
    try:
        return float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):
        raise UserError(f"{name} is one number; got {one_line(repr(value), 60)}: pass its mean.") from None
