"""Data sets of Hugging Face: folders of `save_to_disk`, and the class names that a table's metadata hold."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmlviz.data.table_limits import MAX_TABLE_BYTES
from dmlviz.errors import UserError
from dmlviz.storage.text import one_line

if TYPE_CHECKING:
    import pyarrow

SPLITS, STATE = "dataset_dict.json", "state.json"
SPLIT = "split"
_METADATA = b"huggingface"


def is_saved_dataset(folder: Path) -> bool:
    """Return whether a folder is one of `Dataset.save_to_disk` or `DatasetDict.save_to_disk`."""
    return (folder / SPLITS).is_file() or ((folder / STATE).is_file() and (folder / "dataset_info.json").is_file())


def read_saved_dataset(folder: Path) -> "pyarrow.Table":
    """Read a folder of `save_to_disk`, all splits of it, classes as their names.

    Raises:
        UserError: For a folder that cannot be read.
    """
    from pyarrow import ArrowException

    try:
        if not (folder / SPLITS).is_file():
            return _read_split(folder)
        names = json.loads((folder / SPLITS).read_text(encoding="utf-8"))["splits"]
        return join_splits({str(name): _read_split(folder / Path(str(name)).name) for name in names})
    except (OSError, ValueError, KeyError, TypeError, ArrowException) as error:
        reason = one_line(str(error), 120) or type(error).__name__
        raise UserError(
            f"{folder.name} looks like a data set of Hugging Face, but cannot be read ({reason}): save it again."
        ) from None


def join_splits(splits: Mapping[str, "pyarrow.Table"]) -> "pyarrow.Table":
    """Return one table of all splits, with a column that names the split of each row, where it has none."""
    import pyarrow

    parts = []
    for name, table in splits.items():
        if SPLIT not in table.column_names:
            table = table.append_column(SPLIT, pyarrow.array([name] * table.num_rows, "string"))
        parts.append(table.replace_schema_metadata(None))
    return pyarrow.concat_tables(parts, promote_options="permissive")


def with_class_names(table: "pyarrow.Table") -> "pyarrow.Table":
    """Return the table with class names instead of numbers, as the `huggingface` metadata of its schema has them."""
    try:
        features = json.loads((table.schema.metadata or {})[_METADATA])["info"]["features"]
        names = {column: feature["names"] for column, feature in features.items() if "names" in feature}
    except (KeyError, ValueError, TypeError):
        return table
    for column, classes in names.items():
        if column in table.column_names and "int" in str(table.schema.field(column).type):
            number = table.column_names.index(column)
            table = table.set_column(number, column, name_values(table.column(column), classes))
    return table


def name_values(column: "pyarrow.ChunkedArray", classes: Sequence[str]) -> "pyarrow.Array":
    """Return the names of class numbers; nothing where there is none, as −1 says, too."""
    import pyarrow

    numbers = range(len(classes))
    return pyarrow.array([str(classes[value]) if value in numbers else None for value in column.to_pylist()], "string")


def _read_split(folder: Path) -> "pyarrow.Table":
    import pyarrow

    state: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
    files = [folder / Path(str(file["filename"])).name for file in state["_data_files"]]
    size = sum(file.stat().st_size for file in files)
    if size > MAX_TABLE_BYTES:
        raise UserError(
            f"A table has up to {MAX_TABLE_BYTES / 1024**3:.0f} GB; {folder.name} has {size / 1024**3:.1f} GB: select "
            "fewer rows."
        )
    tables = []
    for file in files:
        with pyarrow.memory_map(str(file)) as source:
            tables.append(pyarrow.ipc.open_stream(source).read_all())
    return with_class_names(pyarrow.concat_tables(tables))
