"""A lesson under way: how far its task has come, and what its runs really gave."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from app.runtime.services import Services
from app.state.explore import UIState
from app.state.explore_query import settings_from_query
from dmlviz.catalog.metrics import METRICS
from dmlviz.config import TrainConfig
from dmlviz.lessons import Lesson, Task
from dmlviz.metrics import evaluate
from dmlviz.runs.run import ProjectionRun, Run, RunNotFoundError

ACTIVE, ON_MAP = "active", "map."


@dataclass(frozen=True)
class TaskProgress:
    """A task with the run that answers it: `run` None before it was asked for, `over` once it has ended well.

    `held` is whether a teacher holds the answer back.
    """

    lesson: Lesson
    number: int
    task: Task
    guess: int | None
    config: TrainConfig
    run: Run | None
    over: bool
    held: bool = False

    @property
    def is_revealed(self) -> bool:
        """Whether the person has guessed and the run has answered."""
        return self.guess is not None and self.over and not self.held

    @property
    def is_question_open(self) -> bool:
        """Whether the question is asked now."""
        return self.guess is None and (self.over or not self.task.view_before_guess)

    @property
    def shows_map(self) -> bool:
        """Whether the map may be seen: before the guess only where the guess is about it."""
        guessed = self.guess is not None and not self.held
        return self.run is not None and (guessed or self.task.view_before_guess)


def task_progress(ui: UIState, services: Services, dataset: str) -> TaskProgress | None:
    """How the lesson that `ui` names stands; None without one. `dataset` stands in while none is chosen."""
    if ui.active_task is None:
        return None
    lesson, task = ui.active_task
    config = task_config(task, ui.settings.get("dataset", dataset))
    run = _run(config, services)
    over = run is not None and run.state == "finished" and services.jobs.status(run.id).phase == "finished"
    held = services.classrooms.holds_back(services.person.id, lesson.name, ui.task)
    guess = ui.guess or services.classrooms.guess_of(services.person.id, lesson.name, ui.task)
    return TaskProgress(lesson, ui.task, task, guess, config, run, over, held)


def task_config(task: Task, dataset: str) -> TrainConfig:
    """The training that a task asks for."""
    return UIState.from_query(settings_from_query(task)).config(dataset)


def task_view(task: Task) -> UIState:
    """A state that shows the map which a task is about."""
    return UIState.from_query({name: text for name, text in task.query.items() if name.partition(".")[0] == "view"})


def evaluate_answer(progress: TaskProgress, services: Services) -> list[tuple[str, dict[str, float]]]:
    """What the runs of this task and of those before it gave: title, values by the words for them."""
    answers = []
    for number, task in enumerate(progress.lesson.tasks[: progress.number], 1):
        run = progress.run if number == progress.number else _run(task_config(task, progress.config.dataset), services)
        if run is not None and run.state == "finished":
            answers.append((task.title, task_measurements(run, task)))
    return answers


def task_measurements(run: Run, task: Task) -> dict[str, float]:
    """The numbers that a task reads from its run, by the words for them; what is not there is left out."""
    values: dict[str, float] = {}
    for name in task.measurements:
        value = _value(run, task, name)
        if value is not None:
            values[_label(name)] = value
    return values


def _label(name: str) -> str:
    if name == ACTIVE:
        return "Active terms at the end"
    if name.startswith(ON_MAP):
        return f"{METRICS[name.removeprefix(ON_MAP)].title} on the map"
    return METRICS[name].title


def _value(run: Run, task: Task, name: str) -> float | None:
    if name == ACTIVE:
        return _active_fraction(run)
    if not name.startswith(ON_MAP):
        return run.metrics.get(name)
    config = task_view(task).projection()
    try:
        projection = None if config is None else run.drawing(config.id)
    except RunNotFoundError:
        return None
    if projection is None or projection.state != "finished":
        return None
    return _on_map_values(projection.path)[name.removeprefix(ON_MAP)]


def _active_fraction(run: Run) -> float | None:
    """The mean share of active terms over the last tenth of a run."""
    steps = [event for event in run.events() if event["event"] == "step"]
    last = [event["active"] for event in steps if event["step"] > 0.9 * run.config.steps]
    return float(np.mean(last)) if last else None


@lru_cache(maxsize=64)
def _on_map_values(path: Path) -> Mapping[str, float]:
    """The retrieval scores of a finished drawing, were it the embedding."""
    coordinates, labels = ProjectionRun(path).coordinates, Run(path.parent.parent).labels
    return evaluate(coordinates, labels, clustering=False, full_ranking=False, verification=False)


def _run(config: TrainConfig, services: Services) -> Run | None:
    try:
        return services.runs.get(config.id)
    except RunNotFoundError:
        return None
