"""`dmlviz.add_data`: import images, a table or embeddings from Python."""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL.Image import Image

from dmlviz.data import data_root
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.data.hugging_face import join_splits, name_values
from dmlviz.data.image_folder import Color
from dmlviz.data.import_path import import_path, import_table
from dmlviz.data.table_file import Choice, name_stem, prepare_table
from dmlviz.errors import UserError
from dmlviz.runs.import_embeddings import import_embeddings, import_notes
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.storage.text import one_line

if TYPE_CHECKING:
    import pyarrow


def add_data(
    source: Any,
    *,
    title: str = "",
    label: str | None = None,
    image: str | None = None,
    vector: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    images: bool = True,
    side: int | None = None,
    color: Color = "auto",
    folder_level: int | None = None,
    data: str | Path | None = None,
    runs: str | Path | None = None,
    report: Callable[[str], object] = print,
) -> Run | str:
    """Add your own data, as `dmlviz data add` does: images to train on, or embeddings that the app shows as a run.

    Args:
        source: Path of a folder, zip, table or file of embeddings; or a table: of Arrow, pandas, polars, or a Hugging
            Face `Dataset` or `DatasetDict`, whose splits become a column.
        title: Title; the name of the file by default.
        label: Column of the class; by default the one of that name. Embeddings need none.
        image: Column of images, as bytes or paths.
        vector: Column of lists, or one column for each dimension: a sequence, or names with commas; `emb_*` stands for
            all that begin with emb_.
        missing: Texts that stand for no label, besides an empty one: a sequence, or words with commas.
        images: Whether the images beside vectors are read.
        side: Side of the square images in pixels, 8 to 224.
        color: "gray", "color", or "auto": gray if all images are.
        folder_level: Of folders of images, the number of the level that has the classes, from 1; found if None.
        data: The data folder; by default that of the app.
        runs: The runs folder; by default that of the app.
        report: Called with each sentence of the report: which columns were taken, what was left out.

    Returns:
        The run of embeddings; or the name of a data set of images, for `TrainConfig(dataset=…)`.

    Raises:
        UserError: If it cannot be read; in one sentence that names column and row.

    Examples:
        >>> import pyarrow, tempfile
        >>> table = pyarrow.table({"x": [0.0, 1.0, 4.0], "y": [0.0, 2.0, 1.0], "color": ["red", "blue", "red"]})
        >>> run = add_data(table, runs=tempfile.mkdtemp())
        No column is a label (choose one with --label). Vector: x, y (3 rows; choose others with --vector).
        Columns to color and search by: x, y, color.
    """
    choice = Choice(_names(vector), label, image, _names(missing), images, folder_level)
    if isinstance(source, str | Path):
        path = Path(source)
        result = import_path(path, title=title, choice=choice, side=side, color=color)
        title = title or name_stem(path)
    else:
        title = title or "My table"
        table, notes = to_arrow(source)
        result = import_table(
            table, Path(), "the table", title=title, choice=choice, side=side, color=color, notes=notes
        )
    root = data_root(data)
    for line in import_notes(result) if isinstance(result, LabeledEmbeddings) else result.report_lines:
        report(line)
    if isinstance(result, LabeledEmbeddings):
        return import_embeddings(Runs(runs_folder(runs)), result, title, root)
    return result.save(root)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for name in (names.split(",") if isinstance(names, str) else names) if name.strip())


def to_arrow(table: Any) -> tuple["pyarrow.Table", list[str]]:
    """Return a table of Arrow, classes as names, and notes; raise UserError for something else than a table."""
    import pyarrow

    if isinstance(table, Mapping) and table and all(_is_hugging_face(split) for split in table.values()):
        return join_splits({str(name): _of_hugging_face(split) for name, split in table.items()}), []
    if _is_hugging_face(table):
        return _of_hugging_face(table), []
    if hasattr(table, "columns") and hasattr(table, "dtypes") and hasattr(table, "iloc"):
        return prepare_table(_of_pandas(table), "the table")
    if isinstance(table, pyarrow.RecordBatch | pyarrow.RecordBatchReader) or hasattr(table, "__arrow_c_stream__"):
        return prepare_table(pyarrow.table(table), "the table")  # pyarrow, polars, DuckDB, …
    what = f"Data are a path, or a table of Arrow, pandas, polars or Hugging Face; got {type(table).__name__}"
    if hasattr(table, "shape") and hasattr(table, "dtype"):
        raise UserError(f"{what}: see arrays with dmlviz.show, or save them as npy or npz and pass the path.")
    raise UserError(f"{what}: convert it, as with pandas.DataFrame.")


def _is_hugging_face(table: Any) -> bool:
    return hasattr(table, "with_format") and hasattr(table, "features")


def _of_hugging_face(dataset: Any) -> "pyarrow.Table":
    if not hasattr(dataset, "num_rows"):  # an IterableDataset
        raise UserError(
            "A data set is read as a whole; got one that is streamed: load it without streaming=True, or only a part, "
            "as with Dataset.from_list(list(dataset.take(1000)))."
        )
    arrow = dataset.with_format("arrow")[:]  # as it is selected
    names = {name: feature.names for name, feature in dataset.features.items() if hasattr(feature, "names")}
    for name, classes in names.items():  # a class is a number there
        arrow = arrow.set_column(arrow.column_names.index(name), name, name_values(arrow.column(name), classes))
    return prepare_table(arrow.replace_schema_metadata(None), "the data set")[0]


def _of_pandas(frame: Any) -> "pyarrow.Table":
    """Return the columns of a frame, those of its index first, unless it only numbers the rows."""
    import pyarrow

    if any(name is not None for name in frame.index.names) or frame.index.dtype.kind not in "iu":
        frame = frame.reset_index(allow_duplicates=True)
    arrays, names = [], [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    for number, name in enumerate(names):
        values = frame.iloc[:, number]
        if values.dtype == object and any(isinstance(value, Image) for value in values):
            values = [_png(value) for value in values]
        elif str(values.dtype).startswith("Sparse"):
            values = values.sparse.to_dense()
        elif str(values.dtype).startswith("period"):
            values = values.dt.to_timestamp()
        try:
            array = pyarrow.array(values, from_pandas=True)
            kind = getattr(array.type, "value_type", array.type)
            if isinstance(kind, pyarrow.BaseExtensionType):  # such as the intervals of pandas.cut
                array = pyarrow.array(_as_texts(values), from_pandas=True)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError) as error:
            kinds = sorted({type(value).__name__ for value in values if value is not None})
            raise UserError(
                f"A column holds values of one type; column {name} holds {', '.join(kinds[:4])} "
                f"({one_line(str(error), 80)}): convert it, as with frame[{name!r}].astype(str)."
            ) from None
        arrays.append(array)
    return pyarrow.Table.from_arrays(arrays, names)


def _as_texts(values: Any) -> Any:
    """Return a column of pandas as texts; categories keep their order."""
    if hasattr(values, "cat"):
        return values.cat.rename_categories(values.cat.categories.astype(str))
    return values.astype(str).where(values.notna())


def _png(picture: Any) -> bytes | None:
    if not isinstance(picture, Image):
        return None
    file = BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()
