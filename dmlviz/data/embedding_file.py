"""Precomputed embeddings from npy, npz or a table, with labels and further columns where there are any."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from dmlviz.data import table_file
from dmlviz.data.arrow_types import is_numeric, numbers_of
from dmlviz.data.class_names import UNLABELED, class_ids, has_label, label_notes, label_text
from dmlviz.data.columns import clean_columns
from dmlviz.data.image_folder import LEAST_SIDE, MOST_SIDE
from dmlviz.data.image_ops import as_pixels
from dmlviz.data.labels_file import read_labels_file
from dmlviz.data.table_file import (
    LABEL_KEYS,
    Choice,
    find_columns,
    no_vector,
    read_labels,
    read_vectors,
    shared_objects,
    suffix_of,
    without_missing,
)
from dmlviz.data.table_limits import check_finite, check_size
from dmlviz.data.vector_columns import VECTOR_KEYS
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.ops.precision import narrowed, to_numbers
from dmlviz.storage.arrays import NUMBERS, array_shapes, read_array, read_arrays
from dmlviz.storage.text import one_line, plain_name

if TYPE_CHECKING:
    import pyarrow

ANY = f"{NUMBERS}cSU"  # dtype kinds; other than numbers are rejected later, with a clearer message
SUFFIXES = (".npy", ".npz", *table_file.SUFFIXES)
_HOW = {  # what other programs write, and how it becomes a file that is read
    r"emnist.*\.mat": "bring those of its gzip.zip (emnist-letters-train-images-idx3-ubyte.gz …)",
    r"(data|test)_batch(_\d)?(\.bin|\.mat)?|batches\.meta(\.txt|\.mat)?": "of CIFAR's own files, save the arrays by "
    "numpy.savez('cifar.npz', images=data.reshape(-1, 3, 32, 32), labels=labels)",
    r".*\.(pkl|pickle|joblib)": "it could run code: save a table by pandas' to_parquet, an array by numpy.save",
    r".*\.(pt|pth|safetensors|ckpt)": "save the tensor by numpy.save(file, tensor.float().numpy())",
    r".*\.(h5|hdf5|nc|mat)": "save its arrays by numpy.savez(file, vectors=…, labels=…)",
    r".*\.(xlsx?|ods)": "save the sheet as CSV UTF-8",
    r".*\.(dta|sav|rds)": "write it as CSV, with one row of names",
    r".*\.(db|sqlite3?)": "write its table as CSV, with one row of names",
    r".*\.(txt|md|bin)": "a table is called .csv or .tsv, word vectors as text .vec",
    r".*\.(rar|7z)": "unpack it",
}
T = TypeVar("T")


def how_to_save(name: str) -> str:
    """Return how a file of this name becomes one that is read; "" where nothing is known of its kind."""
    return next((how for pattern, how in _HOW.items() if re.fullmatch(pattern, name, re.IGNORECASE)), "")


@dataclass(frozen=True, eq=False)
class LabeledEmbeddings:
    """Embeddings (n × d, float32), their labels (n, int64), the class names by label, and further columns (n rows).

    Without labels there is one class, `UNLABELED`; where some rows have none, it is the last. `images` are pictures of
    the rows (uint8, n × s × s (× 3)), if any. `notes` are sentences on how the file was read. `vector` are the columns
    of a table that are the embeddings, if each is one number.
    """

    embeddings: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    columns: "pyarrow.Table | None" = None
    images: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    vector: tuple[str, ...] = ()

    def __post_init__(self) -> None:  # sentences name columns and files, and names may hold anything
        object.__setattr__(self, "notes", tuple(map(plain_name, self.notes)))

    @property
    def labeled(self) -> bool:
        """Return whether the embeddings came with labels, if only of one class."""
        return self.classes != (UNLABELED,)

    @property
    def class_count(self) -> str:
        """The number of classes, in words; "" without labels."""
        if not self.labeled:
            return ""
        classes = [name for name in self.classes if name != UNLABELED]
        return "1 class" if len(classes) == 1 else f"{len(classes):,} classes"

    @property
    def labeled_rows(self) -> np.ndarray:
        """Indices of the rows that have a label."""
        return np.flatnonzero(has_label(self.labels, self.classes))

    @property
    def comparable(self) -> bool:
        """Return whether there is more than one class, so that there are scores."""
        return len([name for name in self.classes if name != UNLABELED]) > 1


class EmbeddingTable(NamedTuple):
    """The unvalidated content of a file: vectors (n × d), labels (n, numbers or texts), cameras (n, if requested).

    `vector` and `label` say where they were found, `left_out` what is not kept, `notes` what else is to be known;
    `vector_columns` are as `LabeledEmbeddings.vector`.
    """

    vectors: np.ndarray
    labels: np.ndarray | None
    cameras: np.ndarray | None = None
    columns: "pyarrow.Table | None" = None
    notes: tuple[str, ...] = ()
    vector: str = ""
    label: str = ""
    left_out: tuple[str, ...] = ()
    images: np.ndarray | None = None
    vector_columns: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return what was understood, in one line: label, vector, what is left out."""
        label = "No column is a label (choose one with --label)."
        if self.labels is not None:
            texts = [label_text(one) for one in self.labels.tolist()]
            missing, values = texts.count(UNLABELED), len(set(texts) - {UNLABELED})
            name, unit = self.label or "the column without a name", "value" if values == 1 else "values"
            label = f"Label: {name} ({values:,} {unit}, {missing:,} missing)."
        shown = ", ".join([*self.left_out[:8], *(["…"] if len(self.left_out) > 8 else [])])
        left_out = f"Left out: {len(self.left_out):,}, {shown}." if self.left_out else ""
        return " ".join(part for part in (label, self.vector, left_out) if part)


def read_embeddings(
    path: Path, labels: Path | None = None, choice: Choice | None = None, least: int = 2
) -> LabeledEmbeddings:
    """Read embeddings, their labels and further columns.

    npy holds n × d numbers; npz the arrays `vectors` and `labels`. Tables hold one row per embedding: see
    `dmlviz.data.table_file.find_columns`.

    Args:
        path: The file.
        labels: A separate file of labels, if `path` holds none.
        choice: Roles of the columns, where their names do not say so.
        least: The least number of rows.

    Raises:
        UserError: For any other content.
    """
    path = Path(path)
    choice = choice or Choice()
    own = choice if labels is None else replace(choice, label=None)  # which is a column of the other file
    table = read_table(path, choice=own)
    if labels is not None:
        _check_vectors(path.name, table.vectors, least)
        how = len(table.vectors), table.columns, choice
        found = read_any(read_labels_file, Path(labels), *how)
        table = table._replace(
            labels=found.labels,
            label=found.name,
            columns=table.columns if found.columns is None else found.columns,
            left_out=(*table.left_out, *found.left_out),
            notes=(*table.notes, *found.notes),
        )
    return validate_vectors(path.name, table, least)


def read_table(path: Path, camera: str | None = None, choice: Choice | None = None) -> EmbeddingTable:
    """Read the numbers of a file, and its labels if any, without validation; see `read_embeddings`.

    Args:
        path: The file.
        camera: Name of the column or array with the camera of each vector; None for none.
        choice: Roles of the columns, for tables.

    Raises:
        UserError: For a file that can't be read, or without such a column or array.
    """
    if suffix_of(path) not in SUFFIXES:
        if how := how_to_save(path.name):
            raise UserError(f"{path.name} is of a kind that is not read: {how}.")
        plain = ", ".join(suffix for suffix in SUFFIXES if not suffix.endswith(".gz"))
        raise UserError(
            f"A file of vectors ends in {plain} (texts also .gz); got {path.name}: save it as one of these."
        )
    return read_any(_read_table, path, camera, choice or Choice())


def _read_table(path: Path, camera: str | None, choice: Choice) -> EmbeddingTable:
    suffix = suffix_of(path)
    if suffix == ".npy":
        return _npy(path, camera)
    if suffix == ".npz":
        table = _npz(path, camera, choice.pictures)
        return table if table.labels is None else table._replace(labels=without_missing(table.labels, choice.missing))
    read, notes = table_file.read_table_file(path, choice)
    table = columns_of_vectors(read, path.name, camera, choice)
    return table._replace(notes=(*notes, *table.notes))


def read_any(reader: Callable[..., T], path: Path, *how: Any) -> T:
    """Call a reader of a file; raise UserError for what it cannot read."""
    try:
        return reader(path, *how)
    except UserError:
        raise
    except MemoryError:
        raise UserError(f"{path.name} needs more memory than there is: keep fewer rows or columns.") from None
    except Exception as error:  # NumPy and Arrow raise many types of errors for a damaged file
        reason = one_line(str(error), 120) or type(error).__name__
        kind = suffix_of(path)[1:]
        raise UserError(f"{path.name} could not be read as {kind} ({reason}): save it again.") from None


def columns_of_vectors(
    table: "pyarrow.Table", name: str, camera: str | None = None, choice: Choice | None = None
) -> EmbeddingTable:
    """Split a table into vectors, labels and further columns.

    Args:
        table: The table.
        name: Name of its file, for messages.
        camera: Name of the column of cameras; None for none.
        choice: Roles of the columns.

    Raises:
        UserError: For a table without vectors, or without such a column.
    """
    cameras = None
    if camera is not None:
        if camera not in table.column_names:
            raise _no_camera(name, camera, table.column_names)
        cameras = shared_objects(table.column(camera))
        table = table.drop_columns(camera)
    choice = choice or Choice()
    table = _without_numbers(table, choice.missing)
    roles = find_columns(table, name, choice)
    if not roles.vector:
        raise no_vector(table, name)
    labels = None if roles.label is None else read_labels(table, roles.label, name, choice.missing)
    vectors = read_vectors(table, roles.vector, name)
    columns, left_out, notes = clean_columns(table.select(roles.others))
    vector = roles.vector_note(*vectors.shape)
    series = {", ".join(roles.vector[:3]) + " …" * (len(roles.vector) > 3): vectors}
    numbers = {one: numbers_of(columns[one]).to_numpy() for one in columns.column_names if is_numeric(columns[one])}
    notes += _marks_of_nothing(numbers | series)
    label, named = str(roles.label or ""), roles.vector if len(roles.vector) == vectors.shape[1] else ()
    return EmbeddingTable(
        vectors, labels, cameras, columns, tuple(notes), vector, label, tuple(left_out), vector_columns=named
    )


def _without_numbers(table: "pyarrow.Table", missing: Sequence[str]) -> "pyarrow.Table":
    """Return a table with nothing in place of numbers that a person named as missing."""
    import pyarrow
    from pyarrow import compute

    for at, column in enumerate(table.columns if missing else ()):
        if is_numeric(column):
            named = compute.is_in(column.cast("string"), value_set=pyarrow.array(missing))
            nothing = pyarrow.scalar(None, column.type)
            table = table.set_column(at, table.column_names[at], compute.if_else(named, nothing, column))
    return table


def _marks_of_nothing(columns: Mapping[str, np.ndarray]) -> list[str]:
    """Return a sentence for each number that stands far below all others and by custom means that there is none."""
    notes = []
    for mark in (-999, -9999, -99999):
        found = [name for name, numbers in columns.items() if (numbers == mark).any()]
        found = [name for name in found if np.nanmin(columns[name], where=columns[name] != mark, initial=0) > mark / 2]
        if found:
            notes.append(
                f"{mark} is a number in {', '.join(found[:8])}: if it stands for nothing there, add --missing and it."
            )
    return notes


def _npy(path: Path, camera: str | None = None) -> EmbeddingTable:
    """Read an npy file; raise UserError for one that cannot be read."""
    # Memory-mapped, so that a truncated file fails before anything is allocated.
    try:
        vectors = read_array(path, ANY)
    except DamagedFileError as error:
        raise UserError(f"{path.name} could not be read as npy ({error.reason}): save it again.") from None
    if vectors is None:
        raise UserError(f"There is no file {path.name}: check the path.")
    if camera is not None:
        raise UserError(f"An npy file holds vectors only; {path.name} can't have {camera!r}: save an npz file.")
    return EmbeddingTable(vectors, None, vector=_array_note(vectors, path.name))


def _npz(path: Path, camera: str | None = None, pictures: bool = True) -> EmbeddingTable:
    try:
        shapes = array_shapes(path)
        array_keys = list(shapes)
        names = {name.lower(): name for name in array_keys}
        only = [name for name, shape in shapes.items() if len(shape) == 2 and shape[1] > 1]
        vectors = next((names[name] for name in VECTOR_KEYS if name in names), only[0] if len(only) == 1 else None)
        if vectors is None and "indptr" in names:
            raise UserError(f"Vectors are an n × d array; {path.name} holds a sparse matrix: save its toarray().")
        if vectors is None:
            raise UserError(
                f"An npz file has one array of n × d numbers, or one called vectors; {path.name} has "
                f"{', '.join(f'{name} {shape}' for name, shape in shapes.items()) or 'no array'}: rename one."
            )
        labels = next((names[name] for name in LABEL_KEYS if name in names), None)
        rows = ((shapes[vectors][:1]), (*shapes[vectors][:1], 1))
        column = [name for name, shape in shapes.items() if labels is None and shape in rows and name != camera]
        labels = column[0] if len(column) == 1 else labels
        if camera is not None and camera not in array_keys:
            raise _no_camera(path.name, camera, array_keys)
        squares = [name for name, shape in shapes.items() if _are_pictures(shape, shapes[vectors][0]) and pictures]
        picture = squares[0] if len(squares) == 1 else None
        keys = [name for name in (vectors, labels, camera, picture) if name is not None]
        arrays = read_arrays(path, ANY, keys, lambda shape: check_size(path.name, *(*shape, 1, 1)[:2]))
    except DamagedFileError as error:
        raise UserError(f"{path.name} could not be read as npz ({error.reason}): save it again.") from None
    if column and labels is not None and len(np.unique(arrays[labels])) > max(1, shapes[vectors][0] // 2):
        labels = None  # as names of files
    label_array, cameras = (None if name is None else arrays[name] for name in (labels, camera))
    others = tuple(name for name in array_keys if name not in (vectors, labels, camera, picture))
    notes: tuple[str, ...] = ()
    note, images = _array_note(arrays[vectors], f"array {vectors} of {path.name}"), None
    try:
        images = None if picture is None else as_pixels(arrays[picture], f"{picture} of {path.name}")
    except UserError as error:
        notes = (f"The map has no pictures. {error}",)
    return EmbeddingTable(arrays[vectors], label_array, cameras, None, notes, note, f"array {labels}", others, images)


def _are_pictures(shape: Sequence[int], count: int) -> bool:
    """Return whether an array of this shape holds `count` square pictures, up to the size of a data set's own."""
    sides, channels = (shape[2:], ()) if shape[1:2] in ((1,), (3,)) else (shape[1:3], shape[3:])
    is_square = len({*sides}) == 1 and LEAST_SIDE <= sides[0] <= MOST_SIDE
    return is_square and shape[0] == count and len(shape) in (3, 4) and channels in ((), (1,), (3,))


def _array_note(vectors: np.ndarray, name: str) -> str:
    return f"Vector: {name} ({len(vectors):,} rows of {vectors.shape[-1]:,} numbers)." if vectors.ndim == 2 else ""


def _no_camera(file: str, camera: str, names: Sequence[str]) -> UserError:
    return UserError(
        f"The cameras are a column or an array of that name; {file} has {', '.join(names[:8])} and no {camera!r}: "
        "name one of these."
    )


def validate_vectors(name: str, table: EmbeddingTable, least: int = 2) -> LabeledEmbeddings:
    """Return embeddings that a map can show, with notes that say how; raise UserError if they are none."""
    vectors, labels = table.vectors, table.labels
    _check_vectors(name, vectors, least)
    if labels is not None and labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels is not None and labels.shape != (len(vectors),):
        held = f"{len(labels):,} labels" if labels.ndim == 1 else f"labels of shape {labels.shape}"
        raise UserError(
            f"Each vector has one label; got {held} for {len(vectors):,} vectors: make the two equally long, or choose "
            "one column of labels."
        )
    embeddings = narrowed(to_numbers(vectors))
    check_finite(embeddings, name)
    table = table._replace(labels=labels)
    notes = (table.summary(), *table.notes) if table.vector else table.notes
    ids = np.zeros(len(embeddings), np.int64)
    classes: tuple[str, ...] = (UNLABELED,)
    if labels is not None:
        ids, classes = class_ids(labels, name)
        notes = (*notes, *label_notes(labels, ids, classes))
    return LabeledEmbeddings(embeddings, ids, classes, table.columns, table.images, notes, table.vector_columns)


def _check_vectors(name: str, vectors: np.ndarray, least: int) -> None:
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub" or 0 in vectors.shape:
        how = "save it as float32" if vectors.dtype.kind not in "fiub" else "reshape it"
        how = "save the real parts beside the imaginary ones" if vectors.dtype.kind == "c" else how
        raise UserError(
            f"Vectors are an n × d array of real numbers; {name} holds {vectors.dtype} of shape {vectors.shape}: {how}."
        )
    check_size(name, *vectors.shape)
    if len(vectors) < least:
        raise UserError(f"A map has {least} vectors or more; {name} holds {len(vectors)}: add rows.")
