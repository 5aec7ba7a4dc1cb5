"""`dmlviz.add_data`: anybody's images, table or embeddings, from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmlviz.data import data_root
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.data.image_folder import Color
from dmlviz.data.import_path import import_path, import_table
from dmlviz.data.table_file import Choice
from dmlviz.errors import UserError
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder

if TYPE_CHECKING:
    import pyarrow


def add_data(
    source: Any,
    *,
    title: str = "",
    label: str | None = None,
    image: str | None = None,
    vector: str | Sequence[str] = (),
    side: int | None = None,
    color: Color = "auto",
    data: str | Path | None = None,
    runs: str | Path | None = None,
) -> Run | str:
    """Add your own data, as `dmlviz data add` does: images to train on, or embeddings that the app shows as a run.

    Args:
        source: path of a folder, zip, table or file of embeddings; or a table: of Arrow, of pandas, or a Hugging Face
            `Dataset` (one split).
        title: title; the name of the file by default.
        label: column of the class; by default the one of that name. Embeddings need none.
        image: column of images, as bytes or paths.
        vector: column of lists, or one column for each dimension.
        side: side of the square images in pixels, 8 to 224.
        color: "gray", "color", or "auto": gray if all images are.
        data: the data folder; by default that of the app.
        runs: the runs folder; by default that of the app.

    Returns:
        The run of embeddings; or the name of a data set of images, for `TrainConfig(dataset=…)`.

    Raises:
        UserError: if it cannot be read; in one sentence that names column and row.

    Example:
        >>> import pyarrow, tempfile
        >>> table = pyarrow.table({"x": [0.0, 1.0, 4.0], "y": [0.0, 2.0, 1.0], "color": ["red", "blue", "red"]})
        >>> add_data(table, runs=tempfile.mkdtemp()).columns.column_names
        ['x', 'y', 'color']
    """
    choice = Choice((vector,) if isinstance(vector, str) else tuple(vector), label, image)
    if isinstance(source, str | Path):
        path = Path(source)
        imported = import_path(path, title=title, choice=choice, side=side, color=color)
        title = title or path.stem
    else:
        title = title or "My table"
        imported = import_table(
            to_arrow(source), Path(), "the table", title=title, choice=choice, side=side, color=color
        )
    root = data_root(data)
    if isinstance(imported, LabeledEmbeddings):
        return import_embeddings(Runs(runs_folder(runs)), imported, title, root)
    return imported.save(root)


def to_arrow(table: Any) -> "pyarrow.Table":
    """Return a table of Arrow; raise UserError for something else than a table."""
    import pyarrow

    if isinstance(table, pyarrow.Table):
        return table
    if hasattr(table, "with_format") and hasattr(table, "features"):  # a Dataset of Hugging Face, as it is selected
        names = {name: feature.names for name, feature in table.features.items() if hasattr(feature, "names")}
        arrow = table.with_format("arrow")[:]
        for name, classes in names.items():  # a class is a number there
            arrow = arrow.set_column(arrow.column_names.index(name), name, _named(arrow.column(name), classes))
        return arrow
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        return pyarrow.Table.from_pandas(table, preserve_index=False)
    raise UserError(
        f"Data are a path, or a table of Arrow, pandas or Hugging Face; got {type(table).__name__}: convert it."
    )


def _named(column: Any, classes: Sequence[str]) -> Any:
    import pyarrow

    return pyarrow.array([None if value is None or value < 0 else classes[value] for value in column.to_pylist()])
