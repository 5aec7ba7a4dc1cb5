"""Folders of tables: the parts of one, as Spark, Dask and the Hub write them, and files for the Embedding Projector."""

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from dmlviz.data.class_folders import TESTING, TRAINING
from dmlviz.data.file_source import MAX_FILES, count_entries, hidden_part
from dmlviz.data.hugging_face import SPLIT
from dmlviz.data.table_file import METADATA, PICTURE_SUFFIXES, SUFFIXES, Choice, read_table_file, suffix_of
from dmlviz.data.table_limits import MAX_TABLE_BYTES, check_size, too_large
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

MAX_PARTS = 10_000
PROJECTOR = ("vectors.tsv", "tensors.tsv", "tensor.tsv")
SPRITE = "sprite.png"


def unpack_tables(path: Path, folder: Path) -> bool:
    """Unpack the tables of a zip without pictures into a folder; return whether it is one."""
    if not path.is_file() or not path.name.lower().endswith(".zip") or count_entries(path, MAX_FILES) > MAX_FILES:
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            members = [
                one for one in archive.infolist() if not one.is_dir() and not hidden_part(Path(one.filename).parts)
            ]
            names = [Path(member.filename.lower()).name for member in members]
            tables = [member for member in members if suffix_of(member.filename) in SUFFIXES]
            if not tables or any(name.endswith(PICTURE_SUFFIXES) and name != SPRITE for name in names):
                return False
            size = sum(member.file_size for member in tables)
            if size > MAX_TABLE_BYTES:
                raise too_large(path.name, size)
            for member in tables:
                archive.extract(member, folder)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError):  # which the reader of folders tells
        return False
    return True


def find_projector_files(folder: Path) -> tuple[Path, Path | None] | None:
    """Return the vectors, and the metadata if any, of a folder of the Embedding Projector, or of one folder in it."""
    for place in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        for name in PROJECTOR:
            if (place / name).is_file():
                return place / name, place / METADATA if (place / METADATA).is_file() else None
    return None


def find_tables(folder: Path) -> list[Path]:
    """Return the tables of a folder, at any depth, if it has no pictures: those of one format, Parquet first."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(files):
            if name.lower().endswith(PICTURE_SUFFIXES):
                return []
            if suffix_of(name) in SUFFIXES and not name.startswith((".", "_")):
                found.append(Path(place) / name)
        if len(found) > MAX_PARTS:
            raise UserError(f"A folder of tables has up to {MAX_PARTS:,}; {folder.name} has more: join them to one.")
    suffixes = {suffix_of(path) for path in found}
    first = next((suffix for suffix in (".parquet", *SUFFIXES) if suffix in suffixes), None)
    return [path for path in found if suffix_of(path) == first]


def read_tables(folder: Path, files: list[Path], choice: Choice) -> tuple["pyarrow.Table", list[str]]:
    """Read the parts of a table, and join them, in the order of their paths.

    What folders called NAME=VALUE say is a column. So is the split, where files are called train…, test….

    Raises:
        UserError: For parts with other columns than the first.
    """
    import pyarrow

    parts: list[pyarrow.Table] = []
    notes: list[str] = []
    rows = 0
    splits = [_split(path) for path in files]
    for path, split in zip(files, splits, strict=True):
        table, more = read_table_file(path, choice)
        notes += [note for note in more if note not in notes]
        said = [part.split("=", 1) for part in path.relative_to(folder).parts[:-1] if "=" in part]
        said += [[SPLIT, split]] if all(splits) and split and len(set(splits)) > 1 else []
        for name, value in said:
            if name not in table.column_names:
                table = table.append_column(name, pyarrow.array([value] * table.num_rows, "string"))
        table = table.replace_schema_metadata(None)
        rows += table.num_rows
        check_size(folder.name, rows)
        if parts and set(table.column_names) != set(parts[0].column_names):
            other = sorted(set(table.column_names) ^ set(parts[0].column_names))[0]
            raise UserError(
                f"A folder of tables holds the parts of one; in {folder.name}, only one of {files[0].name} and "
                f"{path.name} has the column {other[:60]}: add one of the files."
            )
        parts.append(table.select(parts[0].column_names) if parts else table)
    try:
        table = pyarrow.concat_tables(parts, promote_options="permissive").combine_chunks()
    except pyarrow.ArrowException:
        for path, part in zip(files, parts, strict=True):
            for field, first in zip(part.schema, parts[0].schema, strict=True):
                if field.type != first.type:
                    raise UserError(
                        f"A column has one type; {field.name} is {first.type} in {files[0].name} and {field.type} in "
                        f"{path.name}: write both alike, or add one of the files."
                    ) from None
        raise
    joined = [f"{folder.name} is read as one table of {len(files):,} files, {files[0].name} first."]
    return table, [*(joined if len(files) > 1 else []), *notes]


def _split(path: Path) -> str | None:
    """Return the split that the name of a file begins with, as the Hub names them: train-00000-of-00002.parquet."""
    word = path.name.split("-")[0].split(".")[0].lower()
    return word if word in (*TRAINING, *TESTING) else None
