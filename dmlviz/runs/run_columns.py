"""Further columns of the test images of a run: of an imported table, of a data set, or its roles."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz import data as images
from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.columns import read_columns
from dmlviz.errors import DamagedFileError
from dmlviz.runs.run import Run

if TYPE_CHECKING:
    import pyarrow


def run_columns(run: Run, data: Path) -> "pyarrow.Table | None":
    """Return the columns of a run's test images: those of an imported table, or of the data set it was trained on.

    The roles of a made data set (query or gallery, camera, …) are columns, too. Those of a data set are there before a
    training has begun. A damaged file is reported with the run; its columns are not there then.
    """
    rows = None if run.labels is None else len(run.labels)
    try:
        return run.columns if run.columns is not None else _of_dataset(run.config.dataset, data, rows)
    except DamagedFileError:
        return None


def has_columns(run: Run, data: Path) -> bool:
    """Return whether there are columns, without reading them."""
    name = run.config.dataset
    if (run.path / "columns.parquet").is_file() or _dataset_file(name, data).is_file():
        return True
    return bool(DATASETS[name].roles) and name in images.available_datasets(data)


def _dataset_file(dataset: str, data: Path) -> Path:
    return data / custom_datasets.FOLDER / dataset / custom_datasets.columns_file("test")


def _of_dataset(dataset: str, data: Path, rows: int | None) -> "pyarrow.Table | None":
    if custom_datasets.is_custom(dataset):
        return read_columns(_dataset_file(dataset, data), rows)
    if not DATASETS[dataset].roles or dataset not in images.available_datasets(data):
        return None
    table = _roles(dataset, data)
    return table if rows in (None, table.num_rows) else None


@lru_cache(maxsize=4)
def _roles(dataset: str, data: Path) -> "pyarrow.Table":
    """Return the roles of a data set's test images, the names of their values in the order of the spec."""
    from pyarrow import DictionaryArray, array, table

    source = images.load(dataset, data)
    codes = {role: np.asarray(values, np.int32) for role, values in source.test.roles.items()}
    return table({role: DictionaryArray.from_arrays(array(codes[role]), array(source.roles[role])) for role in codes})
