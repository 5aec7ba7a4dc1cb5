"""The result of an image import: data set, preprocessing notes, class counts and warnings."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired

import numpy as np
from typing_extensions import TypedDict

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import ClassSplit, DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.columns import write_columns
from dmlviz.data.image_ops import border_pixels
from dmlviz.storage.text import plain_name

if TYPE_CHECKING:
    import pyarrow

FEW_IMAGES = 8  # training images of a class; below it the report warns


class ImportedClass(TypedDict):
    """An imported class with its numbers of images; embeddings have no training images."""

    name: str
    train: NotRequired[int]
    test: int


class SkippedFiles(TypedDict):
    """The reason why files or rows were left out, their number, and the first of their names."""

    reason: str
    count: int
    names: list[str]


class ImportReport(TypedDict):
    """The report of an import: counts of files, classes, and sentences for the person.

    Of folders, the names of each `level`, and which of them (from 1) is that of the classes.
    """

    files: int
    taken: int
    classes: list[ImportedClass]
    notes: list[str]
    warnings: list[str]
    left_out: list[SkippedFiles]
    levels: NotRequired[list[str]]
    level: NotRequired[int]


@dataclass(frozen=True)
class ImportedDataset:
    """An imported data set, before it is saved.

    Attributes:
        declared: Its specification.
        parts: Images (uint8, n × s × s or n × s × s × 3) and labels (int64, n) of both splits.
        report: The import report.
        columns: Further columns of a table, for "train" and "test".
    """

    declared: DatasetSpec
    parts: dict[str, np.ndarray]
    report: ImportReport
    columns: Mapping[str, "pyarrow.Table"] = field(default_factory=dict)

    def __post_init__(self) -> None:  # sentences name files, and names may hold anything
        for texts in (self.report["notes"], self.report["warnings"]):
            texts[:] = [plain_name(self.declared.said(text)) for text in texts]
        for one in self.report["left_out"]:
            one["reason"], one["names"][:] = self.declared.said(one["reason"]), map(plain_name, one["names"])

    @property
    def report_lines(self) -> list[str]:
        """The sentences of the report: notes, warnings, and what was left out."""
        left_out = [
            f"Skipped: {entry['count']:,}, {entry['reason']} ({', '.join(entry['names'][:3])})"
            for entry in self.report["left_out"]
        ]
        return [*self.report["notes"], *self.report["warnings"], *left_out]

    def save(self, root: Path) -> str:
        """Save it to a data folder, and return its name in the catalog."""

        def write(folder: Path) -> None:
            for part, table in self.columns.items():
                write_columns(table, folder / custom_datasets.columns_file(part))

        custom_datasets.save(root, self.declared.name, self.declared.to_dict(), self.parts, write)
        DATASETS.add_search_path(root)
        return self.declared.name


@dataclass(frozen=True)
class Preprocessing:
    """The conversion of the images.

    Attributes:
        shapes: Distinct (width, height) of the originals.
        side: Side of the squares.
        gray: Whether each image is gray (n).
        colored: Whether color was kept.
    """

    shapes: set[tuple[int, int]]
    side: int
    gray: np.ndarray
    colored: bool

    def notes(self) -> list[str]:
        """Return one sentence on sizes and one on colors."""
        return [self._sizes(), self._colors()]

    def _sizes(self) -> str:
        side = self.side
        if self.shapes == {(side, side)}:
            return f"All images are {side} × {side} already and stay as they are."
        by_area = sorted(self.shapes, key=lambda shape: (shape[0] * shape[1], shape))
        sizes = " to ".join(f"{width} × {height}" for width, height in dict.fromkeys([by_area[0], by_area[-1]]))
        return f"Images of {sizes} pixels were fitted whole into {side} × {side}, on the color of their border."

    def _colors(self) -> str:
        in_color = int((~self.gray).sum())
        if self.colored and self.gray.any():
            return f"Gray are {len(self.gray) - in_color:,} of {len(self.gray):,} images; all are kept as color."
        if not self.colored and in_color:
            return f"Made gray: {in_color:,} in color."
        return "All images are in color." if self.colored else "All images are gray."


def to_grayscale(squares: np.ndarray) -> np.ndarray:
    """Convert color images (n × s × s × 3) to gray (n × s × s), by the integer weights of Rec. 601."""
    gray = np.empty(squares.shape[:3], np.uint8)
    for start in range(0, len(squares), 1000):
        red, green, blue = np.moveaxis(squares[start : start + 1000].astype(np.uint32), 3, 0)
        gray[start : start + 1000] = (299 * red + 587 * green + 114 * blue + 500) // 1000
    return gray


def declaration(
    title: str, names: Sequence[str], parts: Mapping[str, np.ndarray], class_split: ClassSplit | None = None
) -> DatasetSpec:
    """Return the specification of a custom data set; its name is a hash of its content."""
    images, labels, tests = parts["train_images"], parts["train_labels"], len(parts["test_labels"])
    side, in_color = images.shape[1], images.ndim == 4
    backgrounds = [border_pixels(image).mean() for image in images[:: max(1, len(images) // 500)]]
    return DatasetSpec(
        name=_name(names, parts),
        title=plain_name(title),
        summary=f"Your own: {len(images) + tests:,} {'color' if in_color else 'gray'} images of {len(names)} "
        f"classes, {side} × {side}; {len(images):,} to train on, {tests:,} to test on"
        + (f", of {class_split.test:,} other classes." if class_split is not None else "."),
        classes=tuple(names),
        size=side,
        mean=round(float(images.mean() / 255), 4),
        std=round(max(float(images.std() / 255), 1e-2), 4),
        channels=3 if in_color else 1,
        dark_on_light=bool(np.median(backgrounds) > 127),
        most={
            "images_per_class": int(np.bincount(labels)[np.unique(labels)].min()),
            "batch_size": len(labels),
        },
        class_split=class_split,
    )


def _name(names: Sequence[str], parts: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256("\0".join(names).encode())
    for part in sorted(parts):
        digest.update(f"{part} {parts[part].shape}".encode())
        digest.update(np.ascontiguousarray(parts[part]).data)
    return custom_datasets.PREFIX + digest.hexdigest()[:16]


def training_classes_first(
    labels: np.ndarray, test: np.ndarray, classes: tuple[str, ...], mask: np.ndarray
) -> tuple[np.ndarray, tuple[str, ...], ClassSplit | None]:
    """Renumber classes, those with training pictures first; say how many classes are for testing only."""
    in_training = np.bincount(labels[mask & ~test], minlength=len(classes)) > 0
    in_test = np.bincount(labels[mask & test], minlength=len(classes)) > 0
    order = [*np.flatnonzero(in_training), *np.flatnonzero(in_test & ~in_training)]
    number = np.full(len(classes), -1)
    number[order] = np.arange(len(order))
    only_tested = int((in_test & ~in_training).sum())
    split = ClassSplit(train=int(in_training.sum()), test=only_tested, disjoint=True) if only_tested else None
    return number[labels], tuple(classes[label] for label in order), split


def class_counts(names: Sequence[str], parts: Mapping[str, np.ndarray]) -> list[ImportedClass]:
    """Return the number of training and test images of each class."""
    counts = {part: np.bincount(parts[f"{part}_labels"], minlength=len(names)) for part in custom_datasets.PARTS}
    return [
        ImportedClass(name=name, train=int(counts["train"][label]), test=int(counts["test"][label]))
        for label, name in enumerate(names)
    ]


def import_warnings(classes: Sequence[ImportedClass]) -> list[str]:
    """Return warnings about classes too small to train on well."""
    fewest = min(classes, key=lambda entry: entry["train"])
    alone = all(entry["test"] < 2 for entry in classes)
    warnings = ["No class has two images to test on, so there will be no scores: bring four of a class."] * alone
    if fewest["train"] >= FEW_IMAGES:
        return warnings
    return [
        *warnings,
        f"{fewest['name']} has only {fewest['train']} images to train on, so a balanced batch takes no more than "
        "that of any class: more images would teach the net more.",
    ]
