"""`dmlviz log`: log a run in an experiment tracker."""

from typing import Annotated

import typer

from dmlviz.cli import DataFolder, RunId, RunsFolder, single_command_app
from dmlviz.data import data_root
from dmlviz.export import RunExport
from dmlviz.export.trackers import TRACKERS, log_run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
_TRACKERS = "; ".join(
    f"{name}: {spec.summary[0].lower()}{spec.summary[1:].rstrip('.')}" for name, spec in TRACKERS.items()
)
_TARGETS = ", ".join(spec.target for spec in TRACKERS.values())


@app.command()
def log(
    run: RunId,
    tracker: Annotated[
        str, typer.Option("--to", metavar="NAME", help=_TRACKERS, autocompletion=lambda: [*TRACKERS])
    ] = "tensorboard",
    target: Annotated[
        str | None, typer.Option(metavar="WHERE", help=f"folder, address or project (default: {_TARGETS})")
    ] = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Log a finished run in TensorBoard, MLflow or Weights & Biases: settings, curves, scores, embeddings or map."""
    source = Runs(runs_folder(runs)).find(run)
    print(log_run(tracker, RunExport.from_run(source, None, data_root(data)), target))
