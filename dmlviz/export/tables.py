"""Export of the test images as a table: class, position on the map, nearest neighbors."""

import json
from typing import IO, TYPE_CHECKING

import numpy as np

from dmlviz.export.contents import RunExport

if TYPE_CHECKING:
    import pyarrow

AXES = ("x", "y", "z")


def table(export: RunExport) -> "pyarrow.Table":
    """Return one row per test image on the map, in the order of the data set.

    Columns: item, label, class, x, y (z), then neighbor_1, distance_1 … of the nearest images. Raises UserError before
    the run's end.
    """
    import pyarrow

    labels, places = export.labels, export.coordinates
    distances, neighbors = export.neighbors
    columns = {
        "item": export.items.astype(np.int32),
        "label": labels.astype(np.int32),
        "class": pyarrow.DictionaryArray.from_arrays(labels.astype(np.int32), list(export.classes)).cast("string"),
    }
    columns |= {axis: places[:, number] for number, axis in enumerate(AXES[: places.shape[1]])}
    for rank in range(neighbors.shape[1]):
        columns[f"neighbor_{rank + 1}"] = neighbors[:, rank].astype(np.int32)
        columns[f"distance_{rank + 1}"] = distances[:, rank]
    return pyarrow.table(columns)


def write_csv(export: RunExport, file: IO[bytes]) -> None:
    """Write the table as CSV (RFC 4180, UTF-8) with a header."""
    from pyarrow import csv

    csv.write_csv(table(export), file, csv.WriteOptions(quoting_style="needed"))


def write_parquet(export: RunExport, file: IO[bytes]) -> None:
    """Write the table as Parquet with a column `embedding` (d values each), and the run in the metadata."""
    import pyarrow
    from pyarrow import parquet

    flat = pyarrow.array(np.ascontiguousarray(export.embeddings, np.float32).ravel())
    embeddings = pyarrow.FixedSizeListArray.from_arrays(flat, export.embeddings.shape[1])
    run = export.run
    described = {"run": run.id, "title": run.title, "config": run.config.to_json(), "view": export.view}
    whole = table(export).append_column("embedding", embeddings)
    parquet.write_table(whole.replace_schema_metadata({"dmlviz": json.dumps(described)}), file, compression="zstd")
