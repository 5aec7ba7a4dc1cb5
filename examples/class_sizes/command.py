"""The command: `dmlviz class-sizes RUN`."""

from class_sizes.work import sizes
from dmlviz.cli import RunId, RunsFolder, single_command_app
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def class_sizes(run: RunId, runs: RunsFolder = None) -> None:
    """Count the test images of each class of a run."""
    for name, size in sizes(Runs(runs_folder(runs)).find(run)).items():
        print(f"{name}: {size}")
