"""Import from a path: a folder or zip of pictures, a known layout, a table, or embeddings."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dmlviz.data import class_folders, hugging_face, layouts, table_file
from dmlviz.data.embedding_file import (
    SUFFIXES,
    LabeledEmbeddings,
    columns_of_vectors,
    how_to_save,
    read_any,
    read_embeddings,
    validate_vectors,
)
from dmlviz.data.file_source import TARS, Folder, exists, iter_files, open_folder
from dmlviz.data.image_folder import Color, import_image_folder
from dmlviz.data.import_report import ImportedDataset
from dmlviz.data.picture_list import find_picture_list
from dmlviz.data.picture_table import import_picture_table, read_pictures
from dmlviz.data.points import import_points
from dmlviz.data.raw_files import import_arrays, import_pixel_tables, import_raw_files, pixel_tables, siblings
from dmlviz.data.table_file import Choice, find_columns, prepare_table
from dmlviz.data.table_folder import find_projector_files, find_tables, read_tables, unpack_tables
from dmlviz.errors import UserError
from dmlviz.storage.text import counted, plain_name

if TYPE_CHECKING:
    import pyarrow


def import_path(
    path: Path,
    *,
    title: str = "",
    labels: Path | None = None,
    choice: Choice | None = None,
    side: int | None = None,
    color: Color = "auto",
    progress: Callable[[int, int], object] = lambda done, of: None,
    follow_paths: bool = True,
) -> ImportedDataset | LabeledEmbeddings:
    """Read a folder, zip, table or file of embeddings.

    Args:
        path: The folder or file.
        title: Title of a data set; the name of the file by default.
        labels: A separate file of labels, for embeddings that have none.
        choice: Roles of the columns of a table.
        side: Side of the square images in pixels.
        color: "gray", "color", or "auto": gray if all images are.
        progress: Called with what is done, and what is to do.
        follow_paths: Whether a table may name pictures by their paths; False for uploads.

    Returns:
        Pictures to train on, or embeddings to be shown as they are.

    Raises:
        UserError: If it cannot be read.
    """
    path, choice = Path(path), choice or Choice()
    notes: list[str] = []
    place = path if path.is_dir() else path.parent
    raw = (
        import_raw_files(siblings(path), place.resolve().name, title, follow_paths)
        or import_pixel_tables(pixel_tables(path), path.name, title)
        or import_arrays(path, title)
    )
    if raw is not None:
        return raw
    with TemporaryDirectory() as folder:
        unpacked = Path(folder) / path.name
        if unpack_tables(path, unpacked):
            return import_path(unpacked, title=title or path.stem, labels=labels, choice=choice, follow_paths=False)
    if path.is_dir() and hugging_face.is_saved_dataset(path):
        table, notes = prepare_table(hugging_face.read_saved_dataset(path), path.name)
    elif path.is_dir() and (pair := find_projector_files(path)) is not None:
        return read_embeddings(pair[0], labels or pair[1], choice)
    elif path.is_dir() and (files := find_tables(path)):
        pixels = import_pixel_tables(files, path.name, title)
        if pixels is not None:
            return pixels
        table, notes = read_any(read_tables, path, files, choice)
    elif path.is_dir() or path.name.lower().endswith((".zip", *TARS)) or not path.is_file():
        if not path.is_dir() and table_file.suffix_of(path) in (*table_file.SUFFIXES, ".npy", ".npz"):
            raise UserError(f"There is no file {path}: check the path.")
        return _import_folder(path, title, choice, side, color, progress, is_trusted=follow_paths)
    elif table_file.suffix_of(path) not in table_file.SUFFIXES or labels is not None:
        return read_embeddings(path, labels, choice)
    else:
        table, notes = read_any(table_file.read_table_file, path, choice)
    return import_table(
        table,
        (path if path.is_dir() else path.parent) if follow_paths else None,
        path.name,
        title=title or (path.name if path.is_dir() else table_file.name_stem(path)),
        choice=choice,
        side=side,
        color=color,
        progress=progress,
        notes=notes,
    )


def _import_folder(
    path: Path,
    title: str,
    choice: Choice,
    side: int | None,
    color: Color,
    progress: Callable[[int, int], object],
    is_trusted: bool,
) -> ImportedDataset:
    """Read a folder or zip of pictures: one of a known layout, else files as MNIST's, or a folder for each class."""
    listed, level = None, choice.folder_level
    if exists(path):
        with open_folder(path) as folder:
            match = layouts.find_layout(folder)
            if match is not None:
                layout, folder = match
                table, title = layout.read(folder), title or layout.title
                listed = table, layouts.found_columns(table), [f"Read as {layout.title}."]
            elif level is None:
                listed = find_picture_list(path, choice)
            if listed is not None and listed[1].label is not None:
                table, roles, notes = listed
                how: dict[str, Any] = {"side": side, "color": color, "progress": progress, "missing": choice.missing}
                title = title or path.stem
                return import_picture_table(table, roles, folder, title=title, name=path.name, notes=notes, **how)
    hints = listed[2] if listed is not None else []
    try:
        imported = import_image_folder(
            path, title=title, side=side, color=color, level=level, progress=progress, is_trusted=is_trusted
        )
    except UserError as error:
        with iter_files(path) as files:
            unread = {file.name: to_do for file in files if (to_do := how_to_save(file.parts[-1]))}
            closed = [file.name for file in files if file.name.lower().endswith((".zip", *TARS, *SUFFIXES))]
        pictures = any(table_file.suffix_of(file.name) in table_file.PICTURE_SUFFIXES for file in files)
        if unread and not hints and not pictures:
            name, to_do = next(iter(unread.items()))
            raise UserError(
                f"{path.name} holds {counted(len(unread), 'file')} of a kind that is not read, as {name}: {to_do}."
            ) from None
        if closed and not hints:
            hints = [f"{path.name} holds {class_folders.listed(closed)}: unpack what is packed, and add it by itself."]
        raise UserError(" ".join((str(error), *hints))) from None
    imported.report["warnings"] += map(plain_name, hints)
    return imported


def import_table(
    table: "pyarrow.Table",
    folder: Folder | None,
    name: str,
    *,
    title: str,
    choice: Choice | None = None,
    side: int | None = None,
    color: Color = "auto",
    progress: Callable[[int, int], object] = lambda done, of: None,
    notes: Sequence[str] = (),
) -> ImportedDataset | LabeledEmbeddings:
    """Make data of a table: embeddings if it has vectors, otherwise pictures to train on.

    Args:
        table: One row for each picture or vector.
        folder: Base of relative paths of pictures; None where paths may not be followed.
        name: Name of the table, for messages.
        title: Title of a data set.
        choice: Roles of the columns.
        side: Side of the square images in pixels.
        color: "gray", "color", or "auto": gray if all images are.
        progress: Called with the number of pictures read, and of all pictures.
        notes: Sentences on how the table was read, for the report.

    Raises:
        UserError: For a table that has neither.
    """
    if table.num_rows == 0:
        raise UserError(f"A table has a row for each picture or vector; {name} has none: check how it was written.")
    if choice is not None and choice.points:
        return import_points(table, name, title=title, choice=choice, notes=notes)
    roles = find_columns(table, name, choice)
    if not roles.vector and roles.image is not None:
        notes = [f"Pictures: {roles.image}. Label: {roles.label}.", *notes]
        return import_picture_table(
            table,
            roles,
            folder,
            title=title,
            name=name,
            side=side,
            color=color,
            progress=progress,
            notes=notes,
            missing=choice.missing if choice is not None else (),
        )
    choice, pictures = choice or Choice(), None
    if roles.image is not None:
        try:
            pictures = read_pictures(table, roles.image, folder, name, side, color, progress)
        except UserError as error:
            if choice.image is not None:
                raise
            notes = [*notes, f"The map has no pictures, as those of column {roles.image} cannot be read. {error}"]
            choice = replace(choice, pictures=False)
    columns = columns_of_vectors(table, name, choice=choice)
    embeddings = validate_vectors(name, columns._replace(notes=(*notes, *columns.notes)))
    if pictures is None:
        return embeddings
    return replace(
        embeddings, images=pictures.at_all_rows(table.num_rows), notes=(*embeddings.notes, *pictures.notes())
    )
