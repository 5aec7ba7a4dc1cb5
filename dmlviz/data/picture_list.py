"""A table in a folder of pictures that names them and their classes, as competitions hand them out."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dmlviz.data.class_folders import split_name
from dmlviz.data.file_source import Entry, iter_files
from dmlviz.data.hugging_face import SPLIT
from dmlviz.data.table_file import PICTURE_SUFFIXES, Choice, FoundColumns, find_columns, read_table_file, suffix_of
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

LISTS = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz")
MAX_LISTS = 20  # more are annotations, one a picture
LEAST = 0.5  # of the rows, those whose picture is there


def find_picture_list(path: Path, choice: Choice) -> "tuple[pyarrow.Table, FoundColumns, list[str]] | None":
    """Return the table in a folder or zip whose rows name its pictures, with its roles and notes; None without one.

    Pictures are named by their path, or by their file's name, with or without its ending; of equal names in several
    folders, a table called test… means the one in a folder called so, others that in train. Tables of equal columns
    are one.
    """
    import pyarrow

    with iter_files(path) as files, TemporaryDirectory() as folder:
        entries = [entry for entry in files if suffix_of(entry.name) in LISTS and not entry.error]
        paths: dict[str, set[str]] = defaultdict(set)
        pictures = [PurePosixPath(entry.name) for entry in files if suffix_of(entry.name) in PICTURE_SUFFIXES]
        for picture in pictures:
            for name in (str(picture), picture.name, picture.stem):
                paths[name].add(str(picture))
        found = []
        for entry in entries if len(entries) <= MAX_LISTS and pictures else ():
            copy = Path(folder) / entry.parts[-1]
            copy.write_bytes(entry.read())
            try:
                table, notes = read_table_file(copy, choice)
            except (UserError, OSError, ValueError):  # no list of pictures; by itself it is read, or refused
                continue
            column, table = _with_paths(table, entry, paths)
            found += [(entry.name, column, table, notes)] if column else []
    if not found:
        return None
    name, column, first, notes = max(found, key=lambda one: one[2].num_rows)
    roles = replace(find_columns(first, name, replace(choice, image=column)), vector=())
    if roles.label is None:
        others = ", ".join(one for one in first.column_names[:8] if one != column)
        return first, roles, [f"{name} names the images: choose which column is their class with --label ({others})."]
    alike = {one[0]: one[2] for one in found if one[2].column_names == first.column_names}
    table = pyarrow.concat_tables([*alike.values()], promote_options="permissive")
    named = table[column].to_pylist()
    notes = [
        f"Classes are column {roles.label} of {', '.join(alike)}, where column {column} names the images.",
        *notes,
    ]
    if len({*named} - {None}) < len(pictures):
        notes.append(f"Images that no row names are left out: {len(pictures) - len({*named} - {None}):,}.")
    others = ", ".join([entry.name for entry in entries if entry.name not in alike][:8])
    notes += [f"Tables that are not read: {others}."] if others else []
    own = [split_name(file.rpartition("/")[2]) for file, rows in alike.items() for _ in range(rows.num_rows)]
    splits = [split_name(" ".join((one or "").split("/")[:-1])) or part for one, part in zip(named, own, strict=True)]
    if {*splits} - {""} == {"train", "test"} and SPLIT not in table.column_names:
        table = table.append_column(SPLIT, pyarrow.array([one or "train" for one in splits]))
    return table, roles, notes


def _with_paths(table: "pyarrow.Table", entry: Entry, paths: Mapping[str, set[str]]) -> "tuple[str, pyarrow.Table]":
    """Return the column that names the most pictures, and the table with their paths there; "" if none names enough."""
    import pyarrow

    place, own = "/".join((*entry.parts[:-1], "")), split_name(entry.parts[-1]) or "train"

    def path_of(value: object) -> str | None:
        text = str(value).replace("\\", "/")
        for name in (place + text, text, text.split("/")[-1]):
            found = sorted(paths.get(name, ()))
            near = found if len(found) == 1 else [one for one in found if split_name(one.rpartition("/")[0]) == own]
            if len(near) == 1:
                return near[0]
        return None

    best, most, filled = "", LEAST * table.num_rows, table
    for at, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if str(column.type) in ("string", "large_string", "int64", "int32"):
            values = [path_of(value) for value in column.to_pylist()]
            if len({*values} - {None}) > most:
                best, most = name, len({*values})
                filled = table.set_column(at, name, pyarrow.array(values, "string"))
    return best, filled
