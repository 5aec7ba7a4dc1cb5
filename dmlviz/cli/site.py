"""`dmlviz site`: write a static site of runs, lessons and labs."""

from pathlib import Path
from typing import Annotated

import typer

from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.cli.lesson_runs import lesson_runs
from dmlviz.config import TrainConfig
from dmlviz.data import data_root
from dmlviz.export import RunExport
from dmlviz.export.site import write_site
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def site(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder, or one with an earlier site")],
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="IDs or titles of runs (see `dmlviz runs`)")
    ] = None,
    lab: Annotated[
        list[str] | None, typer.Option("--lab", metavar="NAME", help="show a lab's ready-made results; repeatable")
    ] = None,
    lesson: Annotated[
        list[str] | None,
        typer.Option(
            "--lesson", metavar="NAME", help="show a lesson, and train its runs where they are missing; repeatable"
        ),
    ] = None,
    lesson_data: Annotated[
        str, typer.Option("--lesson-data", metavar="NAME", help="the data set of the lessons' runs")
    ] = TrainConfig.model_fields["dataset"].default,
    title: Annotated[str, typer.Option(metavar="TEXT", help="title of the first page")] = "dmlviz",
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Write a static site of runs, lessons and labs that any web server can host; the browser embeds drawings."""
    store, root = Runs(runs_folder(runs)), data_root(data)
    chosen = [RunExport.from_run(store.find(name), None, root) for name in dict.fromkeys(run or ())]
    lessons = [lesson_runs(name, lesson_data, store, root, print) for name in dict.fromkeys(lesson or ())]
    for note in write_site(folder, chosen, lab or (), title, lessons):
        print(note)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{folder / 'index.html'} ({size / 1e6:.1f} MB). Look at it: python -m http.server -d {folder}")
