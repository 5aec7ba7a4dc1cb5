"""Import of pictures that a table names or holds, with their labels, split and further columns."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlviz.data.arrow_types import is_text
from dmlviz.data.class_folders import TESTING, TRAINING
from dmlviz.data.class_names import UNLABELED, changed_note, class_ids, has_label
from dmlviz.data.columns import clean_columns, columns_note
from dmlviz.data.file_source import Folder, read_file
from dmlviz.data.image_folder import (
    DEFAULT_SIDE,
    LARGEST_OWN_SIDE,
    LEAST_SIDE,
    MIN_TRAINING,
    MOST_SIDE,
    Color,
    LeftOut,
    check_pixels,
    test_count,
)
from dmlviz.data.image_ops import READABLE, decode_square, is_gray, read_size
from dmlviz.data.import_report import (
    ImportedDataset,
    ImportReport,
    Preprocessing,
    class_counts,
    declaration,
    import_warnings,
    to_grayscale,
    training_classes_first,
)
from dmlviz.data.table_file import FoundColumns, read_labels, shared_objects
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

SPLIT_KEYS = ("split", "fold", "subset", "partition", "set")
EMPTY = 128  # gray level of a picture that is not there
QUERY, GALLERY = ("query", "queries"), ("gallery",)

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class PictureRows:
    """The readable pictures of a table: their squares (uint8, n × s × s (× 3)), rows in the table, and a report."""

    images: np.ndarray
    rows: np.ndarray
    preprocessing: Preprocessing
    left_out: LeftOut

    def at_all_rows(self, count: int) -> np.ndarray:
        """Return a square for each of the table's rows, gray where there is no picture."""
        squares = np.full((count, *self.images.shape[1:]), EMPTY, np.uint8)
        squares[self.rows] = self.images
        return squares

    def notes(self) -> list[str]:
        """Return a sentence for each reason for which rows have no picture."""
        return [
            f"Rows with an empty picture: {entry['count']:,}, {entry['reason']} ({', '.join(entry['names'][:3])})."
            for entry in self.left_out.summary()
        ]


def import_picture_table(
    table: "pyarrow.Table",
    roles: FoundColumns,
    folder: Folder | None,
    *,
    title: str,
    name: str,
    side: int | None = None,
    color: Color = "auto",
    progress: Progress = lambda done, of: None,
    notes: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> ImportedDataset:
    """Make a data set to train on from a table of pictures.

    A column called split says which rows are for training and which for testing (query and gallery are for testing);
    without it a fifth of each class is set aside. Test classes that no training picture has are a zero-shot split.

    Args:
        table: One row for each picture.
        roles: Roles of the columns; `image` and `label` are there.
        folder: Base of relative paths; None where paths may not be followed, as in an upload.
        title: Title of the data set.
        name: Name of the table's file, for messages.
        side: Side of the square images in pixels; 32 by default, or their own if all are small squares of one size.
        color: "gray", "color", or "auto": gray if all images are.
        progress: Called with the number of rows processed, and of all rows.
        notes: Sentences on how the table was read, which begin the report's.
        missing: Texts that stand for no label, besides an empty one.

    Raises:
        UserError: For a table without labels, or without two classes to train on.
    """
    assert roles.image is not None  # the caller looks
    if roles.label is None:
        raise UserError(
            f"Pictures are trained on with their classes; {name} has no column called label (its columns are "
            f"{', '.join(table.column_names[:8])}): add one, choose one with --label, or add vectors to show a map."
        )
    texts = read_labels(table, roles.label, name, missing)
    labels, classes = class_ids(texts, name)
    mask = has_label(labels, classes)
    pictures = read_pictures(table, roles.image, folder, name, side, color, progress, mask=mask)
    table, labels = table.take(pictures.rows), labels[pictures.rows]
    classes = tuple(one for one in classes if one != UNLABELED)  # the last
    test, note = _test_rows(table, labels, pictures.rows)
    rows_kept = _enough_to_train_on(labels, test, pictures)
    labels, classes, class_split = training_classes_first(labels, test, classes, rows_kept)
    further = table.select([column for column in roles.others if column != roles.image])
    others, dropped, more = clean_columns(further)
    parts: dict[str, np.ndarray] = {}
    columns = {}
    for part, rows in (("train", rows_kept & ~test), ("test", rows_kept & test)):
        parts[f"{part}_images"], parts[f"{part}_labels"] = pictures.images[rows], labels[rows]
        columns[part] = others.take(np.flatnonzero(rows)) if others.num_columns else others
    counts = class_counts(classes, parts)
    report: ImportReport = {
        "files": len(test) + sum(entry["count"] for entry in pictures.left_out.summary()),
        "taken": int(rows_kept.sum()),
        "classes": counts,
        "left_out": pictures.left_out.summary(),
        "notes": [
            *notes,
            *changed_note(text for text in texts.tolist() if isinstance(text, str)),
            *pictures.preprocessing.notes(),
            note,
            *([f"Columns left out: {', '.join(dropped)}."] if dropped else []),
            *more,
            *columns_note(others.column_names),
        ],
        "warnings": import_warnings([entry for entry in counts if entry["train"]]),
    }
    spec = declaration(title, classes, parts, class_split)
    return ImportedDataset(spec, parts, report, columns if others.num_columns else {})


def read_pictures(
    table: "pyarrow.Table",
    column: str,
    folder: Folder | None,
    name: str,
    side: int | None = None,
    color: Color = "auto",
    progress: Progress = lambda done, of: None,
    mask: np.ndarray | None = None,
) -> PictureRows:
    """Decode the pictures of a column, given as bytes or as paths.

    Args:
        table: One row for each picture.
        column: The column of pictures.
        folder: Base of relative paths; None where paths may not be followed, as in an upload.
        name: Name of the table's file, for messages.
        side: Side of the square images in pixels; None as in `import_picture_table`.
        color: As in `import_picture_table`.
        progress: Called with the number of rows processed, and of all rows.
        mask: Mask of the rows with a label (n); the others are left out. None for all.

    Raises:
        UserError: If there are too many pixels, or no picture can be read; the column and the first row are named.
    """
    if side is not None and not LEAST_SIDE <= side <= MOST_SIDE:
        raise UserError(
            f"Images are scaled to {LEAST_SIDE} to {MOST_SIDE} pixels a side; got {side}: choose a size in that range."
        )
    values, of = table.column(column), table.num_rows
    left_out, shapes, first_error = LeftOut(), set(), ""
    side = side or _own_side(values, folder) or DEFAULT_SIDE
    check_pixels(of, side)
    squares = np.empty((of, side, side, 3), np.uint8)
    rows: list[int] = []
    for row, value in enumerate(values):
        if row % 50 == 0:
            progress(row, of)
        if mask is not None and not mask[row]:
            left_out.add("without a label", f"row {row + 1}")
            continue
        try:
            content = picture_bytes(value.as_py(), folder)
            shapes.add(read_size(content))
            squares[len(rows)] = decode_square(content, side)
        except UserError as error:
            left_out.add(str(error), f"row {row + 1}")
            first_error = first_error or f"column {column} of {name}, row {row + 1:,}: {error}"
        else:
            rows.append(row)
    if not rows and not first_error:
        raise UserError(f"Pictures are trained on with their classes; no row of {name} has a label: fill the column.")
    if not rows:
        vectors = isinstance(values[0].as_py(), bytes) and "; where the bytes are a vector, store a list of numbers"
        raise UserError(f"A picture is a {READABLE}; {first_error}. Correct or remove it{vectors or ''}.")
    squares = squares[: len(rows)]
    gray = is_gray(squares)
    preprocessing = Preprocessing(shapes, side, gray, not gray.all() if color == "auto" else color == "color")
    images = squares if preprocessing.colored else to_grayscale(squares)
    return PictureRows(images, np.array(rows), preprocessing, left_out)


def picture_bytes(value: Any, folder: Folder | None) -> bytes:
    """Return the content of a picture: bytes, a path, or both as Hugging Face keeps them; UserError where it is not."""
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return value
    if not value:
        raise UserError("nothing is there")
    if folder is None:
        raise UserError("a path, which a server does not follow: put the bytes into the table, or upload a zip")
    if "://" in value:
        raise UserError("an address, which is not fetched: load the pictures first, and name their files")
    for path in dict.fromkeys((value, value.replace("\\", "/"))):  # as Windows writes it
        absolute = isinstance(folder, Path) and Path(path).is_absolute()
        with suppress(OSError, ValueError):
            return read_file(Path(path) if absolute else folder / path)
    raise UserError("no such file")


def _own_side(values: "pyarrow.ChunkedArray", folder: Folder | None) -> int | None:
    """Return the side of the first pictures, if they are small squares of one size."""
    shapes = set()
    for value in values.slice(0, 50):
        try:
            shapes.add(read_size(picture_bytes(value.as_py(), folder)))
        except UserError:
            continue
    width, height = shapes.pop() if len(shapes) == 1 else (0, 1)
    return width if width == height and LEAST_SIDE <= width <= LARGEST_OWN_SIDE else None


def _test_rows(table: "pyarrow.Table", labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the test mask (n), from a column called split or else a fifth of each class, and a note for the report.

    `rows` are the rows in the file, for messages.
    """
    by_lower_name = {column.lower(): column for column in table.column_names}
    split = next((by_lower_name[key] for key in SPLIT_KEYS if key in by_lower_name), None)
    if split is not None and is_text(table.column(split)):
        words = [str(word).lower() for word in shared_objects(table.column(split)).tolist()]
        unknown = next(
            (row for row, word in enumerate(words) if word not in (*TRAINING, *TESTING, *QUERY, *GALLERY)), None
        )
        if unknown is not None:
            raise UserError(
                f"A split is train or test (or val, query, gallery); column {split} has {words[unknown][:40]!r} in row "
                f"{rows[unknown] + 1:,}: rename it, or rename the column."
            )
        test = np.array([word not in TRAINING for word in words])
        if test.all() or not test.any():
            raise UserError(
                f"A split has rows to train on and rows to test on; column {split} has only "
                f"{', '.join(sorted(set(words)))}: add the others, or rename the column."
            )
        return test, f"The split is that of column {split}."
    test = np.zeros(len(labels), bool)
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 2))
    for start, end in pairwise(starts):
        test[order[start : start + test_count(end - start)]] = end - start > MIN_TRAINING
    return test, "A fifth of each class is set aside for testing, chosen at random."


def _enough_to_train_on(labels: np.ndarray, test: np.ndarray, pictures: PictureRows) -> np.ndarray:
    """Return the rows that are kept (mask): training classes have two pictures or more, since a loss compares them."""
    counts = np.bincount(labels[~test], minlength=labels.max() + 1)
    few: np.ndarray = ~test & (counts[labels] < MIN_TRAINING)
    for row in np.flatnonzero(few):
        reason = f"its class has fewer than {MIN_TRAINING} images to train on"
        pictures.left_out.add(reason, f"row {pictures.rows[row] + 1}")
    large_enough = int(np.count_nonzero(counts >= MIN_TRAINING))
    if large_enough < 2:
        raise UserError(
            f"A data set has 2 classes or more with {MIN_TRAINING} training images or more; got {large_enough} among "
            f"{len(counts):,} classes: add images, or choose another column as label."
        )
    if not test.any():
        raise UserError(
            f"Testing needs images, too; no class has more than {MIN_TRAINING}: add images or a column split."
        )
    enough: np.ndarray = ~few
    return enough
