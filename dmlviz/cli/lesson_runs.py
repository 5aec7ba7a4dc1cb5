"""The runs of a lesson, for its pages: those that are there, and the others trained now."""

from collections.abc import Callable
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.export import RunExport
from dmlviz.export.lesson_page import LessonExport
from dmlviz.lessons import LESSONS, Task
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.run import ProjectionRun, Run, RunNotFoundError
from dmlviz.runs.store import Runs


def lesson_runs(
    name: str, dataset: str, store: Runs, data: Path, say: Callable[[str], None] = lambda line: None
) -> LessonExport:
    """Return a lesson with the run of each task.

    Args:
        name: Name of the lesson.
        dataset: Name of the data set to train on.
        store: The runs folder; what is trained here is kept there.
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
        runs.append(RunExport.from_run(run, _drawing(task, run, store, say), data))
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


def _drawing(task: Task, run: Run, store: Runs, say: Callable[[str], None]) -> ProjectionRun | None:
    config = task.projection()
    if config is None:
        return None
    drawing = next((one for one in run.projections() if one.id == config.id and one.state == "finished"), None)
    if drawing is None:
        from dmlviz.runs.projection_run import run_projection

        limit_to_one_thread()
        drawing = store.create_projection(run, config)
        say(f"{task.title}: drawing its embeddings by {config.declared.title} …")
        run_projection(drawing.path)
    return drawing
