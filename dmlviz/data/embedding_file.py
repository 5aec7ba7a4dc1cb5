"""Precomputed embeddings from npy, npz, csv, tsv or parquet, with labels and further columns where there are any."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dmlviz.data import table_file
from dmlviz.data.class_names import UNLABELED, class_ids, has_label, label_notes
from dmlviz.data.columns import clean_columns, dropped_note
from dmlviz.data.table_file import LABEL_KEYS, VECTOR_KEYS, Choice, find_columns, read_vectors
from dmlviz.data.table_limits import check_finite, check_size
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.arrays import NUMBERS, array_names, read_array, read_arrays
from dmlviz.storage.text import one_line

if TYPE_CHECKING:
    import pyarrow

ANY = f"{NUMBERS}cSU"  # dtype kinds; other than numbers are rejected later, with a clearer message
SUFFIXES = (".npy", ".npz", *table_file.SUFFIXES)


@dataclass(frozen=True, eq=False)
class LabeledEmbeddings:
    """Embeddings (n × d, float32), their labels (n, int64), the class names by label, and further columns (n rows).

    Without labels there is one class, `UNLABELED`; where some rows have none, it is the last. `images` are pictures of
    the rows (uint8, n × s × s (× 3)), if any. `notes` are sentences on how the file was read.
    """

    embeddings: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    columns: "pyarrow.Table | None" = None
    images: np.ndarray | None = None
    notes: tuple[str, ...] = ()

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

    `notes` are sentences that describe how it was read.
    """

    vectors: np.ndarray
    labels: np.ndarray | None
    cameras: np.ndarray | None = None
    columns: "pyarrow.Table | None" = None
    notes: tuple[str, ...] = ()


def read_embeddings(path: Path, labels: Path | None = None, choice: Choice | None = None) -> LabeledEmbeddings:
    """Read embeddings, their labels and further columns.

    npy holds n × d numbers; npz the arrays `vectors` and `labels`. csv, tsv and parquet hold one row per embedding: see
    `dmlviz.data.table_file.find_columns`.

    Args:
        path: The file.
        labels: A separate file of labels, if `path` holds none.
        choice: Roles of the columns, where their names do not say so.

    Raises:
        UserError: For any other content.
    """
    path = Path(path)
    table = read_table(path, choice=choice)
    class_labels = table.labels if labels is None else _read_labels(Path(labels))
    return validate_vectors(path.name, table.vectors, class_labels, table.columns, table.notes)


def read_table(path: Path, camera: str | None = None, choice: Choice | None = None) -> EmbeddingTable:
    """Read the numbers of a file, and its labels if any, without validation; see `read_embeddings`.

    Args:
        path: The file.
        camera: Name of the column or array with the camera of each vector; None for none.
        choice: Roles of the columns; for csv, tsv and parquet.

    Raises:
        UserError: For a file that can't be read, or without such a column or array.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"A file of vectors ends in {', '.join(SUFFIXES)}; got {path.name}: save it as one of these.")
    try:
        if suffix == ".npy":
            return _npy(path, camera)
        if suffix == ".npz":
            return _npz(path, camera)
        read, notes = table_file.read_table_file(path)
        table = columns_of_vectors(read, path.name, camera, choice)
        return table._replace(notes=(*notes, *table.notes))
    except UserError:
        raise
    except MemoryError:
        raise UserError(f"{path.name} needs more memory than there is: keep fewer rows or columns.") from None
    except Exception as error:  # NumPy and Arrow raise many types of errors for a damaged file
        reason = one_line(str(error), 120) or type(error).__name__
        raise UserError(f"{path.name} could not be read as {path.suffix[1:]} ({reason}): save it again.") from None


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
    roles = find_columns(table, name, choice)
    if not roles.vector:
        raise UserError(
            f"A table of vectors has columns of numbers; those of {name} are {', '.join(table.column_names[:8])}: "
            "add one column for each dimension."
        )
    labels = None if roles.label is None else shared_objects(table.column(roles.label))
    vectors = read_vectors(table, roles.vector, name)
    others = table.select(roles.others)
    return EmbeddingTable(vectors, labels, cameras, clean_columns(others), (*roles.notes(), *dropped_note(others)))


def shared_objects(column: Any) -> np.ndarray:
    """Return the values of a column as Python objects; equal ones are one object."""
    codes = column.dictionary_encode() if str(column.type) == "string" else column
    codes = codes.combine_chunks()
    if not hasattr(codes, "dictionary"):
        return np.array(codes.to_pylist(), dtype=object)
    values = np.array([*codes.dictionary.to_pylist(), None], dtype=object)
    rows: np.ndarray = values[np.asarray(codes.indices.fill_null(len(values) - 1))]
    return rows


def _read_labels(path: Path) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        return _npy(path).vectors
    if path.suffix.lower() not in (".txt", ".csv", ".tsv"):
        raise UserError(
            f"A file of labels ends in .npy, .csv, .tsv or .txt; got {path.name}: save it as one of these, a "
            "label per line."
        )
    lines = [line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    lines = [line for line in lines if line]
    return np.array(lines[1:] if lines and lines[0].lower() in LABEL_KEYS else lines, dtype=object)


def _npy(path: Path, camera: str | None = None) -> EmbeddingTable:
    # Memory-mapped, so that a truncated file fails before anything is allocated.
    try:
        vectors = read_array(path, ANY)
    except DamagedFileError as error:
        raise UserError(f"{path.name} could not be read as npy ({error.reason}): save it again.") from None
    if vectors is None:
        raise UserError(f"There is no file {path.name}: check the path.")
    if camera is not None:
        raise UserError(f"An npy file holds vectors only; {path.name} can't have {camera!r}: save an npz file.")
    return EmbeddingTable(vectors, None)


def _npz(path: Path, camera: str | None = None) -> EmbeddingTable:
    try:
        array_keys = array_names(path)
        names = {name.lower(): name for name in array_keys}
        vectors = next((names[name] for name in VECTOR_KEYS if name in names), None)
        if vectors is None:
            raise UserError(
                f"An npz file has an array called vectors; {path.name} has {', '.join(array_keys) or 'no array'}: "
                "rename one."
            )
        labels = next((names[name] for name in LABEL_KEYS if name in names), None)
        if camera is not None and camera not in array_keys:
            raise _no_camera(path.name, camera, array_keys)
        keys = [name for name in (vectors, labels, camera) if name is not None]
        arrays = read_arrays(path, ANY, keys, lambda shape: check_size(path.name, *(*shape, 1, 1)[:2]))
    except DamagedFileError as error:
        raise UserError(f"{path.name} could not be read as npz ({error.reason}): save it again.") from None
    label_array, cameras = (None if name is None else arrays[name] for name in (labels, camera))
    return EmbeddingTable(arrays[vectors], label_array, cameras)


def _no_camera(file: str, camera: str, names: Sequence[str]) -> UserError:
    return UserError(
        f"The cameras are a column or an array of that name; {file} has {', '.join(names[:8])} and no {camera!r}: "
        "name one of these."
    )


def validate_vectors(
    name: str,
    vectors: np.ndarray,
    labels: np.ndarray | None,
    columns: "pyarrow.Table | None",
    notes: Sequence[str] = (),
) -> LabeledEmbeddings:
    """Return embeddings that a map can show, with notes on their labels; raise UserError if they are none."""
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub" or 0 in vectors.shape:
        raise UserError(
            f"Vectors are an n × d array of numbers; {name} holds {vectors.dtype} of shape {vectors.shape}: reshape it."
        )
    check_size(name, *vectors.shape)
    if len(vectors) < 2:
        raise UserError(f"A map has 2 vectors or more; {name} holds one: add rows.")
    labels = None if labels is None else np.asarray(labels)
    if labels is not None and labels.shape != (len(vectors),):
        raise UserError(
            f"Each vector has one label; got {labels.size:,} labels for {len(vectors):,} vectors: make the two "
            "equally long."
        )
    embeddings = np.ascontiguousarray(vectors, np.float32)
    check_finite(embeddings, name)
    if labels is None:
        return LabeledEmbeddings(
            embeddings, np.zeros(len(embeddings), np.int64), (UNLABELED,), columns, notes=tuple(notes)
        )
    ids, classes = class_ids(labels, name)
    notes = (*notes, *label_notes(labels, ids, classes))
    return LabeledEmbeddings(embeddings, ids, classes, columns, notes=notes)
