"""Import of an image folder, or a zip, with one subfolder per class, as a data set with a report."""

import hashlib
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from dmlviz.data.class_names import MAX_NAME, short_names
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
)
from dmlviz.errors import UserError

Color = Literal["auto", "gray", "color"]

DEFAULT_SIDE = 32
LEAST_SIDE, MOST_SIDE = 8, 224
LARGEST_OWN_SIDE = 64  # pixels; larger squares are scaled down unless a person asks for their size
MAX_IMAGES = 100_000
MAX_CLASSES = 10_000
MAX_PIXEL_BYTES = 6 * 1024**3  # of all pictures, decoded
MIN_PER_CLASS = 3  # two for training, since a loss compares them, and one for testing
TEST_SHARE = 0.2
TRAINING = ("train", "training")
TESTING = ("test", "testing", "val", "valid", "validation")
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
    progress: Callable[[int, int], object] = lambda done, of: None,
) -> ImportedDataset:
    """Import a folder or zip with one subfolder of images per class.

    Folders named train and test keep their split; otherwise a fifth of each class, chosen by content, is the test set.

    Args:
        path: Folder or zip.
        title: Title of the data set; the name of the file by default.
        side: Side of the square images in pixels. By default the common side if all are small squares, otherwise 32.
        color: "gray", "color", or "auto": gray if all images are.
        progress: Called with the number of files processed, and the number of all files.

    Raises:
        UserError: If the content is no valid data set.
    """
    if side is not None and not LEAST_SIDE <= side <= MOST_SIDE:
        raise UserError(
            f"Images are scaled to {LEAST_SIDE} to {MOST_SIDE} pixels a side; got {side}: choose a size in that range."
        )
    left_out = LeftOut()
    with iter_files(Path(path)) as files:
        pictures = _check_class_sizes(_unique(_scan(files, left_out, progress), left_out), left_out)
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
    folders = sorted({picture.name for picture in kept_pictures}, key=_natural)
    numbers = {folder: number for number, folder in enumerate(folders)}
    labels, names = np.array([numbers[picture.name] for picture in kept_pictures]), short_names(folders)
    test, split = _test_images(kept_pictures, labels)
    parts = {
        "train_images": images[~test],
        "train_labels": labels[~test],
        "test_images": images[test],
        "test_labels": labels[test],
    }
    classes = class_counts(names, parts)
    report: ImportReport = {
        "files": len(files),
        "taken": len(kept_pictures),
        "classes": classes,
        "left_out": left_out.summary(),
        "notes": [*preprocessing.notes(), split],
        "warnings": import_warnings(classes),
    }
    return ImportedDataset(declaration(title or _title(path), names, parts), parts, report)


def _scan(files: list[Entry], left_out: LeftOut, progress: Callable[[int, int], object]) -> list[_Picture]:
    """Return the images among the files, by their headers."""
    top = _common_top(files)
    split = all(_split_name(entry.parts[top]) for entry in files if len(entry.parts) > top + 2)
    split = split and any(len(entry.parts) > top + 2 for entry in files)
    pictures = []
    class_level = top + 1 if split else top
    for number, entry in enumerate(files):
        progress(number, 2 * len(files))
        if entry.error or len(entry.parts) < class_level + 2:
            left_out.add(entry.error or "in no class folder", entry.name)
            continue
        try:
            data = entry.read()
            shape = read_size(data)
        except UserError as error:
            left_out.add(str(error), entry.name)
        except Exception:  # each compression method has its own errors
            left_out.add("cannot be read", entry.name)
        else:
            part = _split_name(entry.parts[top]) if split else ""
            name = _class_name(entry.parts[class_level])
            pictures.append(_Picture(entry, name, part, hashlib.sha256(data).hexdigest(), shape))
    return pictures


def _split_name(folder: str) -> str:
    """Return the split that a folder's name stands for; empty for none."""
    name = folder.lower()
    return "train" if name in TRAINING else "test" if name in TESTING else ""


def _common_top(files: list[Entry]) -> int:
    """Return the number of leading folders common to all files in folders."""
    folders = [entry.parts[:-1] for entry in files if len(entry.parts) > 1 and not entry.error]
    if not folders:
        return 0
    first, last = min(folders), max(folders)
    return next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


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
    small = {name for name, count in counts.items() if count < MIN_PER_CLASS}
    for picture in pictures:
        if picture.name in small:
            num_pictures = "1 picture" if counts[picture.name] == 1 else f"{counts[picture.name]} pictures"
            left_out.add(
                f"class {picture.name[:MAX_NAME]} has {num_pictures}: {MIN_PER_CLASS} are needed", picture.entry.name
            )
    classes = len(counts) - len(small)
    if classes < 2:
        reasons = left_out.summary()
        main_reason = f" Most files were left out because: {reasons[0]['reason']}." if reasons else ""
        raise UserError(
            f"A data set has 2 classes or more, each a folder with {MIN_PER_CLASS} pictures or more; "
            f"got {classes}: put the pictures of each class into a folder.{main_reason}"
        )
    if classes > MAX_CLASSES:
        raise UserError(f"A data set has up to {MAX_CLASSES:,} classes; got {classes}: leave some folders out.")
    large_enough = [picture for picture in pictures if picture.name not in small]
    if len(large_enough) > MAX_IMAGES:
        raise UserError(f"A data set has up to {MAX_IMAGES:,} pictures; got {len(large_enough):,}: leave some out.")
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
            f"All pictures together have up to {MAX_PIXEL_BYTES / 1024**3:.0f} GB; {pictures:,} of {side} × {side} "
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


def _test_images(pictures: list[_Picture], labels: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the test mask (n), from the folders or else a fifth of each class, and a note for the report."""
    note = "A fifth of each class is set aside for testing, chosen by its content."
    if pictures[0].split:
        test = np.array([picture.split == "test" for picture in pictures])
        if all(test[labels == label].any() and (~test[labels == label]).sum() > 1 for label in np.unique(labels)):
            return test, "The split is that of the folders."
        note += " The folders' own split leaves some class without enough pictures."
    test = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)  # sorted by content hash, so as good as random
        test[members[: max(1, round(TEST_SHARE * len(members)))]] = True
    return test, note


def _class_name(folder: str) -> str:
    """Return a folder's name without control characters."""
    printable = "".join(letter for letter in unicodedata.normalize("NFC", folder) if letter.isprintable())
    return printable.strip() or "unnamed"


def _title(path: Path) -> str:
    return _class_name(Path(path).stem.replace("_", " "))[:MAX_NAME]


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a sort key for natural order: 10 after 9."""
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name) if part]
