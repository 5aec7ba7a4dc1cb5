"""`dmlviz site`: write a static site of runs, lessons and labs."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunsFolder, complete_run, single_command_app
from dmlviz.cli.export import finished_projection
from dmlviz.config import TrainConfig
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.export import RunExport
from dmlviz.export.contents import LessonExport
from dmlviz.export.site import write_site
from dmlviz.lessons import LESSONS, Task
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.run import ProjectionRun, Run, RunNotFoundError
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def site(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder, or one with an earlier site")],
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN...", help="IDs or titles of runs (see `dmlviz runs`)", autocompletion=complete_run),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option("--view", metavar="NAME", help="map of each run, drawn if need be (default: its own); repeatable"),
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
    playground: Annotated[
        bool, typer.Option("--playground", help="add a page that trains in the browser, on digits")
    ] = False,
    with_data: Annotated[
        list[str] | None,
        typer.Option("--with-data", metavar="NAME", help="pack another data set into the playground; repeatable"),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="title of the first page")] = "dmlviz",
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Write a static site of runs, lessons, labs and a playground; any web server can host it."""
    store, root = Runs(runs_folder(runs)), data_root(data)
    DATASETS.add_search_path(root)
    exports = [
        RunExport.from_run(found, finished_projection(found, name, store), root)
        for found in map(store.find, dict.fromkeys(run or ()))
        for name in dict.fromkeys(view or (None,))
    ]
    lessons = [lesson_runs(name, lesson_data, store, root, print) for name in dict.fromkeys(lesson or ())]
    datasets = tuple(dict.fromkeys(("digits", *(with_data or ())))) if playground or with_data else ()
    for note in write_site(folder, exports, lab or (), title, lessons, datasets, root):
        print(note)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{folder / 'index.html'} ({size / 1e6:.1f} MB). Look at it: python -m http.server -d {folder}")


def lesson_runs(
    name: str, dataset: str, store: Runs, data: Path, say: Callable[[str], None] = lambda line: None
) -> LessonExport:
    """Return a lesson with the run of each task.

    Args:
        name: Name of the lesson.
        dataset: Name of the data set to train on.
        store: The runs folder; trained runs are kept in it.
        data: The data folder.
        say: Called with a line for each training and projection that is begun.

    Raises:
        UserError: For an unknown lesson, or a training that ended without a result.
    """
    if name not in LESSONS:
        raise UserError(f"There is no lesson {name!r}; there are {', '.join(LESSONS)}.")
    lesson = LESSONS[name]
    runs = []
    for task in lesson.tasks:
        run = _run(task, dataset, store, data, say)
        runs.append(RunExport.from_run(run, _projection(task, run, store, say), data))
    return LessonExport(lesson, tuple(runs))


def _run(task: Task, dataset: str, store: Runs, data: Path, say: Callable[[str], None]) -> Run:
    config = task.training(dataset)
    try:
        run = store.get(config.id)
        if run.state in ("finished", "running"):
            return run  # of one that is on, the site says so
    except RunNotFoundError:
        pass
    from dmlviz.runs.training_run import train_and_record

    limit_to_one_thread()
    run = store.create(config)
    say(f"{task.title}: training {run.title}, {config.steps:,} steps …")
    for _ in train_and_record(run, data_root=data):
        pass
    return store.get(config.id)


def _projection(task: Task, run: Run, store: Runs, say: Callable[[str], None]) -> ProjectionRun | None:
    config = task.projection()
    if config is None:
        return None
    projection = next((one for one in run.projections() if one.id == config.id and one.state == "finished"), None)
    if projection is None:
        from dmlviz.runs.projection_run import run_projection

        limit_to_one_thread()
        projection = store.create_projection(run, config)
        say(f"{task.title}: projecting its embeddings by {config.declared.title} …")
        run_projection(projection.path)
    return projection
