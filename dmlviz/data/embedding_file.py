"""Precomputed embeddings with labels, from npy, npz, csv or parquet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.arrays import NUMBERS, array_names, read_array, read_arrays
from dmlviz.storage.text import one_line

if TYPE_CHECKING:
    import pyarrow

ANY = f"{NUMBERS}cSU"  # dtype kinds; other than numbers are rejected later, with a clearer message
SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet")
LABEL_KEYS = ("label", "labels", "class", "classes", "target", "targets", "y")
VECTOR_KEYS = ("vector", "vectors", "embedding", "embeddings", "features", "x")
MAX_VECTORS = 20_000
MAX_DIMENSIONS = 4096
MAX_CLASSES = 2000
MAX_OTHER_COLUMNS = 16  # beside the numbers
MAX_LABEL = 1000  # characters that are looked at
MAX_LINE = 1_000_000  # characters
MAX_LINES_PER_ROW = 10


@dataclass(frozen=True)
class LabeledEmbeddings:
    """Embeddings (n × d, float32), their labels (n, int64), and the class names by label."""

    embeddings: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]


class EmbeddingTable(NamedTuple):
    """What a file holds, not validated: vectors (n × d), labels (n, numbers or texts), cameras (n, if asked for)."""

    vectors: np.ndarray
    labels: np.ndarray | None
    cameras: np.ndarray | None = None


def read_embeddings(path: Path, labels: Path | None = None) -> LabeledEmbeddings:
    """Read embeddings and labels.

    npy holds n × d numbers; npz the arrays `vectors` and `labels`. csv and parquet hold one row per embedding: numbers
    in every column but the one called label (or class, target, y), or one column of lists called vector.

    Args:
        path: The file.
        labels: A separate file of labels, if `path` holds none.

    Raises:
        UserError: For any other content.
    """
    path = Path(path)
    vectors, class_labels, _ = read_table(path)
    if labels is not None:
        class_labels = _read_labels(Path(labels))
    if class_labels is None:
        raise UserError(
            f"Every vector needs a label; {path.name} has none: add a second file (npy, csv or txt, one label for each "
            "vector), or a column called label."
        )
    return _validate(path.name, vectors, class_labels)


def read_table(path: Path, camera: str | None = None) -> EmbeddingTable:
    """Read the numbers of a file, and its labels if any, without validation; see `read_embeddings`.

    Args:
        path: The file.
        camera: Name of the column or array with the camera of each vector; None for none.

    Raises:
        UserError: For a file that can't be read, or without such a column or array.
    """
    kinds = {".npy": _npy, ".npz": _npz, ".csv": _csv, ".tsv": _csv, ".parquet": _parquet}
    reader = kinds.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"A file of vectors ends in {', '.join(SUFFIXES)}; got {path.name}: save it as one of these.")
    try:
        return reader(path, camera)
    except UserError:
        raise
    except MemoryError:
        raise UserError(f"{path.name} needs more memory than there is: keep fewer rows or columns.") from None
    except Exception as error:  # NumPy and Arrow raise many types of errors for a damaged file
        reason = one_line(str(error), 120) or type(error).__name__
        raise UserError(f"{path.name} could not be read as {path.suffix[1:]} ({reason}): save it again.") from None


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
            raise _no_camera(path, camera, array_keys)
        wanted = [name for name in (vectors, labels, camera) if name is not None]
        arrays = read_arrays(path, ANY, wanted, lambda shape: _check_size(path.name, *(*shape, 1, 1)[:2]))
    except DamagedFileError as error:
        raise UserError(f"{path.name} could not be read as npz ({error.reason}): save it again.") from None
    labeled, seen = (None if name is None else arrays[name] for name in (labels, camera))
    return EmbeddingTable(arrays[vectors], labeled, seen)


def _no_camera(path: Path, camera: str, names: Sequence[str]) -> UserError:
    return UserError(
        f"The cameras are a column or an array of that name; {path.name} has {', '.join(names[:8])} and no {camera!r}: "
        "name one of these."
    )


def _csv(path: Path, camera: str | None = None) -> EmbeddingTable:
    from pyarrow import csv

    with open(path, encoding="utf-8", errors="replace") as file:
        first = file.readline(MAX_LINE)
    if len(first) == MAX_LINE:
        raise UserError(f"A line of a table has up to {MAX_LINE:,} characters; {path.name} has a longer one: cut it.")
    _check_lines(path)
    tab = "\t" if path.suffix.lower() == ".tsv" or first.count("\t") > first.count(",") else ","
    _check_size(path.name, 1, first.count(tab) - MAX_OTHER_COLUMNS)
    headless = all(_is_number(part) for part in first.strip().split(tab)[1:-1] or [""])
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(autogenerate_column_names=headless),
        parse_options=csv.ParseOptions(delimiter=tab),
    )
    return _columns(path, table, camera)


def _check_lines(path: Path) -> None:
    """Refuse a table with far too many lines before it is parsed; a quoted label may hold some line ends."""
    with open(path, "rb") as file:
        lines = sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
    if lines > MAX_LINES_PER_ROW * MAX_VECTORS:
        _too_many(path.name, lines, 1)


def _parquet(path: Path, camera: str | None = None) -> EmbeddingTable:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        metadata, texts = file.metadata, [field.name for field in file.schema_arrow if str(field.type) == "string"]
        _check_size(path.name, metadata.num_rows, metadata.num_columns - MAX_OTHER_COLUMNS)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        values = sum(max(group.column(i).num_values for i in range(group.num_columns)) for group in groups)
        _check_size(path.name, metadata.num_rows, values // max(1, metadata.num_rows))  # in lists
    with parquet.ParquetFile(path, read_dictionary=texts) as file:  # a long text that is repeated is read once
        return _columns(path, file.read(), camera)


def _columns(path: Path, table: "pyarrow.Table", camera: str | None) -> EmbeddingTable:
    import pyarrow
    import pyarrow.compute

    _check_size(path.name, table.num_rows, table.num_columns - MAX_OTHER_COLUMNS)
    cameras = None
    if camera is not None:
        if camera not in table.column_names:
            raise _no_camera(path, camera, table.column_names)
        cameras = _shared_objects(table.column(camera))
        table = table.drop_columns(camera)
    columns: Mapping[str, Any] = {name: table.column(name) for name in table.column_names}
    numeric = {
        name: pyarrow.types.is_floating(c.type) or pyarrow.types.is_integer(c.type) for name, c in columns.items()
    }
    by_lower_name = {name.lower(): name for name in columns}
    label = next((by_lower_name[name] for name in LABEL_KEYS if name in by_lower_name), None)
    label = label or next(
        (name for name, number in numeric.items() if not number and not _is_list(columns[name])), None
    )
    lists = [name for name, column in columns.items() if _is_list(column)]
    labels = None if label is None else _shared_objects(columns[label])
    if lists:
        name = next((by_lower_name[key] for key in VECTOR_KEYS if by_lower_name.get(key) in lists), lists[0])
        lengths = pyarrow.compute.list_value_length(columns[name])
        if lengths.null_count or len(lengths.unique()) > 1:
            raise UserError(
                f"All vectors have one length; in {path.name}, those in column {name} differ: make them equal."
            )
        numbers = np.concatenate([np.asarray(chunk.flatten()) for chunk in columns[name].chunks] or [np.zeros(0)])
        return EmbeddingTable(numbers.astype(np.float32).reshape(table.num_rows, -1), labels, cameras)
    vector_columns = [name for name, number in numeric.items() if number and name != label]
    if not vector_columns:
        raise UserError(
            f"A table of vectors has columns of numbers; those of {path.name} are {', '.join(list(columns)[:8])}: "
            "add one column for each dimension."
        )
    vectors = np.stack([columns[name].to_numpy().astype(np.float32) for name in vector_columns], axis=1)
    return EmbeddingTable(vectors, labels, cameras)


def _shared_objects(column: Any) -> np.ndarray:
    """The values of a column as Python objects; equal ones are one object."""
    encoded = column.dictionary_encode() if str(column.type) == "string" else column
    encoded = encoded.combine_chunks()
    if not hasattr(encoded, "dictionary"):
        return np.array(encoded.to_pylist(), dtype=object)
    values = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    rows: np.ndarray = values[np.asarray(encoded.indices.fill_null(len(values) - 1))]
    return rows


def _is_list(column: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    return any(check(column.type) for check in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_size(name: str, rows: int, dimensions: int) -> None:
    if rows > MAX_VECTORS or dimensions > MAX_DIMENSIONS:
        _too_many(name, rows, dimensions)


def _too_many(name: str, rows: int, dimensions: int) -> None:
    raise UserError(
        f"A file has up to {MAX_VECTORS:,} vectors of up to {MAX_DIMENSIONS:,} dimensions; "
        f"{name} holds {rows:,} of {dimensions:,}: keep fewer rows or columns."
    )


def _validate(name: str, vectors: np.ndarray, labels: np.ndarray) -> LabeledEmbeddings:
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub" or 0 in vectors.shape:
        raise UserError(
            f"Vectors are an n × d array of numbers; {name} holds {vectors.dtype} of shape {vectors.shape}: reshape it."
        )
    _check_size(name, *vectors.shape)
    labels = np.asarray(labels)
    if labels.shape != (len(vectors),):
        raise UserError(
            f"Each vector has one label; got {labels.size:,} labels for {len(vectors):,} vectors: make the two "
            "equally long."
        )
    embeddings = np.ascontiguousarray(vectors, np.float32)
    num_invalid = int((~np.isfinite(embeddings)).any(axis=1).sum())
    if num_invalid:
        raise UserError(
            f"Vectors are finite numbers; {num_invalid:,} rows of {name} hold NaN, infinity or nothing: remove them."
        )
    names = [label_text(label) for label in labels.tolist()]
    classes = sorted(set(names), key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise UserError(
            f"Labels name 2 to {MAX_CLASSES} classes; {name} has {len(classes):,}: merge classes, or leave some out."
        )
    numbers = {name: number for number, name in enumerate(classes)}
    return LabeledEmbeddings(embeddings, np.array([numbers[name] for name in names], np.int64), tuple(classes))


def label_text(label: Any) -> str:
    """Return the name of the class that a label of a file stands for: 3, 3.0 and "3" name one class."""
    if isinstance(label, bytes):
        label = label.decode(errors="replace")
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return "".join(letter for letter in str(label)[:MAX_LABEL] if letter.isprintable()).strip()[:40] or "unnamed"
