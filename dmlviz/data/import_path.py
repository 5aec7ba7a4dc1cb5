"""Import from a path: a folder or zip of pictures, a known layout, a table, or embeddings."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dmlviz.data import hugging_face, layouts, table_file
from dmlviz.data.embedding_file import LabeledEmbeddings, columns_of_vectors, read_embeddings, validate_vectors
from dmlviz.data.file_source import TARS, Folder, exists, open_folder
from dmlviz.data.image_folder import Color, import_image_folder
from dmlviz.data.import_report import ImportedDataset
from dmlviz.data.picture_table import import_picture_table, read_pictures
from dmlviz.data.table_file import Choice, find_columns, prepare_table
from dmlviz.errors import UserError
from dmlviz.storage.text import one_line

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
    path = Path(path)
    if path.is_dir() and hugging_face.is_saved_dataset(path):
        table = prepare_table(hugging_face.read_saved_dataset(path), path.name)
        return import_table(
            table, path, path.name, title=title or path.name, choice=choice, side=side, color=color, progress=progress
        )
    if path.is_dir() or path.name.lower().endswith((".zip", *TARS)) or not path.is_file():
        if path.suffix.lower() in (*table_file.SUFFIXES, ".npy", ".npz"):
            raise UserError(f"There is no file {path}: check the path.")
        return _import_folder(path, title, choice, side, color, progress)
    if path.suffix.lower() not in table_file.SUFFIXES or labels is not None:
        return read_embeddings(path, labels, choice)
    table, notes = _read(path)
    return import_table(
        table,
        path.parent if follow_paths else None,
        path.name,
        title=title or path.stem,
        choice=choice,
        side=side,
        color=color,
        progress=progress,
        notes=notes,
    )


def _import_folder(
    path: Path,
    title: str,
    choice: Choice | None,
    side: int | None,
    color: Color,
    progress: Callable[[int, int], object],
) -> ImportedDataset:
    """Read a folder or zip of pictures: one of a known layout, else one with a folder for each class."""
    if exists(path):
        with open_folder(path) as folder:
            match = layouts.find_layout(folder)
            if match is not None:
                layout, place = match
                table = layout.read(place)
                return import_picture_table(
                    table,
                    layouts.found_columns(table),
                    place,
                    title=title or layout.title,
                    name=path.name,
                    side=side,
                    color=color,
                    progress=progress,
                    notes=[f"Read as {layout.title}."],
                )
    level = choice.folder_level if choice else None
    return import_image_folder(path, title=title, side=side, color=color, level=level, progress=progress)


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
    roles = find_columns(table, name, choice)
    if not roles.vector and roles.image is not None:
        notes = [*notes, f"Pictures: {roles.image}. Label: {roles.label}."]
        return import_picture_table(
            table, roles, folder, title=title, name=name, side=side, color=color, progress=progress, notes=notes
        )
    columns = columns_of_vectors(table, name, choice=choice)
    embeddings = validate_vectors(name, columns.vectors, columns.labels, columns.columns, (*notes, *columns.notes))
    if roles.image is None:
        return embeddings
    pictures = read_pictures(table, roles.image, folder, name, side, color, progress)
    return replace(
        embeddings, images=pictures.at_all_rows(table.num_rows), notes=(*embeddings.notes, *pictures.notes())
    )


def _read(path: Path) -> tuple["pyarrow.Table", list[str]]:
    try:
        return table_file.read_table_file(path)
    except UserError:
        raise
    except MemoryError:
        raise UserError(f"{path.name} needs more memory than there is: keep fewer rows or columns.") from None
    except Exception as error:  # Arrow raises many types of errors for a damaged file
        reason = one_line(str(error), 120) or type(error).__name__
        raise UserError(f"{path.name} could not be read as {path.suffix[1:]} ({reason}): save it again.") from None
