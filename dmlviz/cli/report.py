"""`dmlviz report`: the report of a verification and identification test, as `dmlviz export --format report`."""

from pathlib import Path
from typing import Annotated

import typer

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunId, RunsFolder, single_command_app
from dmlviz.data import data_root
from dmlviz.export import RunExport, save
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def report(
    run: RunId,
    out: Annotated[Path | None, typer.Option("--output", "--out", "-o", metavar="FILE", help="output path")] = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Write an HTML file about a run: protocol, ROC, DET and CMC with intervals, thresholds, worst errors, versions.

    It needs no script and no network; a browser prints it as PDF.
    """
    source = Runs(runs_folder(runs)).find(run)
    DATASETS.add_search_path(data_root(data))
    print(save("report", RunExport(source, data_root=data_root(data)), out))
