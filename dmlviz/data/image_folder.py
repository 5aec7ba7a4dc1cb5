"""Import of an image folder, or a zip, with one subfolder per class, as a data set with a report."""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from dmlviz.data.class_folders import ClassFolders, class_name, read_class_folders
from dmlviz.data.class_names import MAX_NAME, MAX_SHOWN, changed_note, natural_order, short_names
from dmlviz.data.file_source import Entry, iter_files
from dmlviz.data.image_ops import decode_square, is_gray, read_size
from dmlviz.data.import_report import (
    ImportedDataset,
    ImportReport,
    Preprocessing,
    SkippedFiles,
    class_counts,
    declaration,
    import_warnings,
    to_grayscale,
    training_classes_first,
)
from dmlviz.data.raw_files import import_raw_files
from dmlviz.errors import UserError
from dmlviz.storage.text import counted

Color = Literal["auto", "gray", "color"]

DEFAULT_SIDE = 32
LEAST_SIDE, MOST_SIDE = 8, 224
LARGEST_OWN_SIDE = 64  # pixels; larger squares are scaled down unless a person asks for their size
MAX_IMAGES = 100_000
MAX_CLASSES = 10_000
MAX_PIXEL_BYTES = 6 * 1024**3  # of all pictures, decoded
MIN_PER_CLASS = 3  # two for training, since a loss compares them, and one for testing
MIN_TRAINING = 2  # pictures of a class that can be trained on: a loss compares them
TEST_SHARE = 0.2
MAX_NAMED = 5  # skipped files listed by name, for each reason


@dataclass
class LeftOut:
    """Files or rows that were left out, by reason."""

    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, reason: str, name: str) -> None:
        """Note a file or row that was left out."""
        self.reasons[reason].append(name)

    def summary(self) -> list[SkippedFiles]:
        """Return reasons with counts and the first names, the most frequent first."""
        reasons = sorted(self.reasons.items(), key=lambda item: -len(item[1]))
        return [{"reason": reason, "count": len(names), "names": names[:MAX_NAMED]} for reason, names in reasons]


@dataclass(frozen=True)
class _Picture:
    entry: Entry
    name: str
    split: str
    digest: str
    shape: tuple[int, int]


def import_image_folder(
    path: Path,
    *,
    title: str = "",
    side: int | None = None,
    color: Color = "auto",
    level: int | None = None,
    progress: Callable[[int, int], object] = lambda done, of: None,
    is_trusted: bool = False,
) -> ImportedDataset:
    """Import a folder or zip with one subfolder of images per class, or with the files of MNIST or of a relative.

    Folders named as parts of a split keep it (`read_class_folders` says which); otherwise a fifth of each class, chosen
    by content, is the test set.

    Args:
        path: Folder or zip.
        title: Title of the data set; the name of the file by default.
        side: Side of the square images in pixels. By default the common side if all are small squares, otherwise 32.
        color: "gray", "color", or "auto": gray if all images are.
        level: Number of the level of folders that are the classes, from 1; found if None.
        progress: Called with the number of files processed, and the number of all files.
        is_trusted: Whether files of a relative of MNIST are known by names, too, and not only by checksums.

    Raises:
        UserError: If the content is no valid data set.
    """
    if side is not None and not LEAST_SIDE <= side <= MOST_SIDE:
        raise UserError(
            f"Images are scaled to {LEAST_SIDE} to {MOST_SIDE} pixels a side; got {side}: choose a size in that range."
        )
    left_out = LeftOut()
    with iter_files(Path(path)) as files:
        raw = import_raw_files(files, path.stem, title, is_trusted)
        if raw is not None:
            return raw
        pictures, folders = _scan(files, left_out, level, progress)
        pictures = _check_class_sizes(_unique(pictures, left_out), left_out)
        shapes = {picture.shape for picture in pictures}
        side = side or _common_side(shapes) or DEFAULT_SIDE
        squares, indices = _decode_all(
            pictures, side, left_out, lambda done: progress(len(files) + done, 2 * len(files))
        )
        kept_pictures = [pictures[index] for index in indices]
    kept_pictures, squares = _check_after_decode(kept_pictures, squares, left_out)
    gray = is_gray(squares)
    preprocessing = Preprocessing(shapes, side, gray, not gray.all() if color == "auto" else color == "color")
    images = squares if preprocessing.colored else to_grayscale(squares)
    class_names = natural_order({picture.name for picture in kept_pictures})
    numbers = {name: number for number, name in enumerate(class_names)}
    labels = np.array([numbers[picture.name] for picture in kept_pictures])
    test, kept, split = _test_images(kept_pictures, labels, left_out)
    labels, names, class_split = training_classes_first(labels, test, short_names(tuple(class_names), MAX_NAME), kept)
    parts: dict[str, np.ndarray] = {}
    for part, rows in (("train", kept & ~test), ("test", kept & test)):
        parts[f"{part}_images"], parts[f"{part}_labels"] = images[rows], labels[rows]
    classes = class_counts(names, parts)
    report: ImportReport = {
        "files": len(files),
        "taken": int(kept.sum()),
        "classes": classes,
        "left_out": left_out.summary(),
        "notes": [*folders.notes, *changed_note(class_names), *split, *preprocessing.notes(), *files.notes],
        "warnings": [*folders.warnings, *import_warnings([entry for entry in classes if entry["train"]])],
        "levels": folders.levels,
        "level": folders.level,
    }
    return ImportedDataset(declaration(title or _title(path), names, parts, class_split), parts, report)


def _scan(
    files: list[Entry], left_out: LeftOut, level: int | None, progress: Callable[[int, int], object]
) -> tuple[list[_Picture], ClassFolders]:
    """Return the images among the files that are in a class folder, by their headers, and what the folders mean."""
    found: list[tuple[Entry, str, tuple[int, int]]] = []
    for number, entry in enumerate(files):
        progress(number, 2 * len(files))
        if entry.error:
            left_out.add(entry.error, entry.name)
            continue
        try:
            data = entry.read()
            found.append((entry, hashlib.sha256(data).hexdigest(), read_size(data)))
        except UserError as error:
            left_out.add(str(error), entry.name)
        except Exception:  # each compression method has its own errors
            left_out.add("cannot be read", entry.name)
    stems = [PurePosixPath(entry.parts[-1]).stem for entry, _, _ in found]
    folders = read_class_folders([entry.parts[:-1] for entry, _, _ in found], level, stems)
    pictures = []
    for (entry, digest, shape), name, split in zip(found, folders.names, folders.splits, strict=True):
        if name:
            pictures.append(_Picture(entry, name, split, digest, shape))
        else:
            left_out.add("in no class folder", entry.name)
    return pictures, folders


def _unique(pictures: list[_Picture], left_out: LeftOut) -> list[_Picture]:
    """Remove duplicates, and sort by content hash."""
    by_digest: dict[str, _Picture] = {}
    for picture in pictures:
        first = by_digest.setdefault(picture.digest, picture)
        if first is not picture:
            same = first.name == picture.name
            left_out.add("a copy of another" if same else "a copy of one in another class", picture.entry.name)
    return sorted(by_digest.values(), key=lambda picture: picture.digest)


def _check_class_sizes(pictures: list[_Picture], left_out: LeftOut) -> list[_Picture]:
    """Return the images of large enough classes; raise UserError for fewer than 2 classes, or too many."""
    counts = Counter(picture.name for picture in pictures)
    small = natural_order(name for name, count in counts.items() if count < MIN_PER_CLASS)
    for picture in pictures:
        if counts[picture.name] < MIN_PER_CLASS:
            reason = f"of {counted(len(small), 'class', 'classes')} with fewer than {MIN_PER_CLASS} images"
            left_out.add(reason, picture.entry.name)
    classes = len(counts) - len(small)
    if classes < 2:
        reasons = left_out.summary()
        main_reason = ""
        if reasons:
            left = counted(reasons[0]["count"], "file was", "files were")
            main_reason = f" {left} left out: {reasons[0]['reason']}."
        raise UserError(
            f"A data set has 2 classes or more, each a folder with {MIN_PER_CLASS} images or more; "
            f"got {classes}: put the images of each class into a folder, or begin the names of their files with it "
            f"(cat_1.jpg).{main_reason}"
        )
    if classes > MAX_CLASSES:
        raise UserError(f"A data set has up to {MAX_CLASSES:,} classes; got {classes}: leave some folders out.")
    large_enough = [picture for picture in pictures if counts[picture.name] >= MIN_PER_CLASS]
    if len(large_enough) > MAX_IMAGES:
        raise UserError(f"A data set has up to {MAX_IMAGES:,} images; got {len(large_enough):,}: leave some out.")
    return large_enough


def _decode_all(
    pictures: list[_Picture], side: int, left_out: LeftOut, progress: Callable[[int], object]
) -> tuple[np.ndarray, list[int]]:
    check_pixels(len(pictures), side)
    squares = np.empty((len(pictures), side, side, 3), np.uint8)
    indices: list[int] = []
    for number, picture in enumerate(pictures):
        progress(number)
        try:
            squares[len(indices)] = decode_square(picture.entry.read(), side)
        except UserError as error:
            left_out.add(str(error), picture.entry.name)
        else:
            indices.append(number)
    return squares[: len(indices)], indices


def check_pixels(pictures: int, side: int) -> None:
    """Raise UserError if so many pictures of so many pixels a side are too large for memory."""
    if pictures * side * side * 3 > MAX_PIXEL_BYTES:
        raise UserError(
            f"All images together have up to {MAX_PIXEL_BYTES / 1024**3:.0f} GB; {pictures:,} of {side} × {side} "
            f"pixels have more: choose up to {math.isqrt(MAX_PIXEL_BYTES // (3 * pictures))} pixels a side."
        )


def _check_after_decode(
    pictures: list[_Picture], squares: np.ndarray, left_out: LeftOut
) -> tuple[list[_Picture], np.ndarray]:
    """Check class sizes again: some images may have failed to decode."""
    remaining = _check_class_sizes(pictures, left_out)
    if len(remaining) == len(pictures):
        return pictures, squares
    names = {picture.name for picture in remaining}
    return remaining, squares[[picture.name in names for picture in pictures]]


def _common_side(shapes: Iterable[tuple[int, int]]) -> int | None:
    """Return the common side of all images, if they are small squares of one size."""
    (width, height), *other_shapes = set(shapes)
    return width if not other_shapes and width == height and LEAST_SIDE <= width <= LARGEST_OWN_SIDE else None


def _test_images(
    pictures: list[_Picture], labels: np.ndarray, left_out: LeftOut
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the test mask (n), which pictures are kept (mask, n), and notes for the report.

    The split is that of the folders, or else a fifth of each class.
    """
    kept, notes = np.ones(len(labels), bool), ["A fifth of each class is set aside for testing, chosen by its content."]
    if pictures[0].split:
        test = np.array([picture.split == "test" for picture in pictures])
        counts = np.bincount(labels[~test], minlength=labels.max() + 1)
        if np.count_nonzero(counts >= MIN_TRAINING) > 1 and test.any():
            kept = test | (counts[labels] >= MIN_TRAINING)
            for row in np.flatnonzero(~kept):
                left_out.add(f"of a class with fewer than {MIN_TRAINING} images to train on", pictures[row].entry.name)
            return test, kept, []
        notes.append("The split of the folders is not used: it leaves too few images to train on, or none to test on.")
    test = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)  # sorted by content hash, so as good as random
        test[members[: test_count(len(members))]] = True
    return test, kept, notes


def test_count(images: int) -> int:
    """Return how many images of a class are for testing: a fifth, but two of four or more, as a score compares two."""
    return max(1 + (images >= MIN_TRAINING + 2), round(TEST_SHARE * images))


def _title(path: Path) -> str:
    return class_name(Path(path).stem.replace("_", " "))[:MAX_SHOWN]
