"""Exports of the test images with their neighbors: a table, an index of FAISS, files for the Embedding Projector."""

import json
import zipfile
from typing import IO, TYPE_CHECKING

import numpy as np

from dmlviz.data import data_root, sprite_sheet
from dmlviz.data.class_names import has_label
from dmlviz.export.contents import RunExport
from dmlviz.ops.precision import origin
from dmlviz.runs.run_columns import run_columns
from dmlviz.storage import csv_table
from dmlviz.storage.text import one_line

if TYPE_CHECKING:
    import pyarrow


AXES = ("x", "y", "z")


def table(export: RunExport) -> "pyarrow.Table":
    """Return one row per test image on the map, in the order of the data set.

    Columns: item, label, class (both null without a label), x, y (z), then neighbor_1, distance_1 … of the nearest
    images, then those of the person's own table; one that is called as another is column.NAME. Raises UserError before
    the run's end.
    """
    import pyarrow

    places, missing = export.coordinates, ~has_label(export.labels, export.classes)
    labels = pyarrow.array(export.labels.astype(np.int32), mask=missing)
    distances, neighbors = export.neighbors
    columns = {
        "item": export.items.astype(np.int32),
        "label": labels,
        "class": pyarrow.DictionaryArray.from_arrays(labels, list(export.classes)).cast("string"),
    }
    columns |= {axis: places[:, number] for number, axis in enumerate(AXES[: places.shape[1]])}
    for rank in range(neighbors.shape[1]):
        columns[f"neighbor_{rank + 1}"] = neighbors[:, rank].astype(np.int32)
        columns[f"distance_{rank + 1}"] = distances[:, rank]
    whole, own = pyarrow.table(columns), run_columns(export.run, data_root(export.data_root))
    for name, values in zip(own.column_names, own.take(export.items).columns, strict=True) if own else ():
        whole = whole.append_column(f"column.{name}" if name in {*columns, "embedding"} else name, values)
    return whole


def write_csv(export: RunExport, file: IO[bytes]) -> None:
    """Write the table as CSV (RFC 4180, UTF-8) with a header."""
    csv_table.write_csv(table(export), file)


def write_parquet(export: RunExport, file: IO[bytes]) -> None:
    """Write the table as Parquet with a column `embedding` (d values each), and the run in the metadata."""
    import pyarrow
    from pyarrow import parquet

    flat = pyarrow.array(np.ascontiguousarray(export.embeddings).ravel())
    embeddings = pyarrow.FixedSizeListArray.from_arrays(flat, export.embeddings.shape[1])
    run = export.run
    described = {"run": run.id, "title": run.title, "config": run.config.to_json(), "view": export.view}
    if export.projection is not None:
        described["projection"] = export.projection.config.to_json()
    whole = table(export).append_column("embedding", embeddings)
    parquet.write_table(whole.replace_schema_metadata({"dmlviz": json.dumps(described)}), file, compression="zstd")


def write_faiss(export: RunExport, file: IO[bytes]) -> None:
    """Write an exact index, `IndexIDMap2` over `IndexFlatL2`, whose IDs are the numbers of the test images.

    `faiss.read_index` reads it. A search returns squared Euclidean distances, as FAISS's flat index does. It is of
    float32: where that does not hold the distances, the vectors are those from the mean of all.

    Raises:
        UserError: Before the run's end.
    """
    import faiss

    vectors = np.ascontiguousarray(export.embeddings - origin(export.embeddings), np.float32)
    index = faiss.IndexIDMap2(faiss.IndexFlatL2(vectors.shape[1]))
    index.add_with_ids(vectors, np.ascontiguousarray(export.items, np.int64))
    file.write(faiss.serialize_index(index).tobytes())


CONFIG = """embeddings {{
  tensor_name: "{name}"
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
{sprite}}}
"""
SPRITE = """  sprite {{
    image_path: "sprite.png"
    single_image_dim: {tile}
    single_image_dim: {tile}
  }}
"""
MAX_SIDE = 8192  # pixels, the limit of the Projector


def sprite_of(export: RunExport) -> bytes | None:
    """Return a PNG with the image of each vector; None without images, or if they do not fit.

    The Projector takes the column of image i as i modulo the tiles per row, and its row as i divided by the tiles per
    *column*: only a square sheet shows the right images.
    """
    if export.sheets is None:
        return None
    if sprite_sheet.columns_of_square(len(export.items)) * export.sheets.tile > MAX_SIDE:
        return None
    return sprite_sheet.square_png(sprite_sheet.tiles(export.sheets.pngs, export.sheets.tile)[export.items])


def write_projector(export: RunExport, file: IO[bytes]) -> None:
    """Write vectors.tsv, metadata.tsv, sprite.png (if `sprite_of` returns one) and projector_config.pbtxt.

    Raise UserError before the run's end.
    """
    import pyarrow
    from pyarrow import csv

    vectors, labels = export.embeddings, export.labels
    nearest = np.asarray(export.run.labels)[export.neighbors[1][:, 0]]
    tabs = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    columns = {str(axis): vectors[:, axis] for axis in range(vectors.shape[1])}
    metadata = [("image", "class", "nearest")]
    for item, label, other in zip(export.items, labels, nearest, strict=True):
        metadata.append((str(item), one_line(export.classes[label], 1000), one_line(export.classes[other], 1000)))
    png = sprite_of(export)
    sprite = SPRITE.format(tile=export.sheets.tile) if png and export.sheets else ""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        with archive.open("vectors.tsv", "w") as part:
            csv.write_csv(pyarrow.table(columns), part, tabs)
        # The Projector knows no quotes: a name has no tabs and line ends instead.
        archive.writestr("metadata.tsv", "".join("\t".join(row) + "\n" for row in metadata))
        if png:
            archive.writestr(zipfile.ZipInfo("sprite.png"), png)  # compressed already
        archive.writestr("projector_config.pbtxt", CONFIG.format(name=export.run.id, sprite=sprite))
