"""A lesson under way: how far its task has come, and what its runs really gave."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from app.lessons import Lesson, Task
from app.services import Services
from app.state import UIState, task_settings
from dmlviz.config import TrainConfig
from dmlviz.metrics import evaluate
from dmlviz.metrics.declared import METRICS
from dmlviz.record import Drawing, Run, UnknownRun

ACTIVE, ON_MAP = "active", "map."


@dataclass(frozen=True)
class Taught:
    """A task with the run that answers it: `run` None before it was asked for, `over` once it has ended well."""

    lesson: Lesson
    number: int
    task: Task
    guess: int | None
    config: TrainConfig
    run: Run | None
    over: bool

    @property
    def revealed(self) -> bool:
        """Whether the person has guessed and the run has answered."""
        return self.guess is not None and self.over

    @property
    def asked(self) -> bool:
        """Whether the question is asked now."""
        return self.guess is None and (self.over or not self.task.look_first)

    @property
    def shows_map(self) -> bool:
        """Whether the map may be seen: before the guess only where the guess is about it."""
        return self.run is not None and (self.guess is not None or self.task.look_first)


def taught(ui: UIState, services: Services, dataset: str) -> Taught | None:
    """How the lesson that `ui` names stands; None without one. `dataset` stands in while none is chosen."""
    if ui.teaching is None:
        return None
    lesson, task = ui.teaching
    config = config_of(task, ui.settings.get("dataset", dataset))
    run = _run(config, services)
    over = run is not None and run.state == "finished" and services.jobs.status(run.id).phase == "finished"
    return Taught(lesson, ui.task, task, ui.guess, config, run, over)


def config_of(task: Task, dataset: str) -> TrainConfig:
    """The training that a task asks for."""
    return UIState.from_query(task_settings(task)).config(dataset)


def view_of(task: Task) -> UIState:
    """A state that shows the map which a task is about."""
    return UIState.from_query({name: text for name, text in task.query.items() if name.partition(".")[0] == "view"})


def answers(now: Taught, services: Services) -> list[tuple[str, dict[str, float]]]:
    """What the runs of this task and of those before it gave: title, values by the words for them."""
    found = []
    for number, task in enumerate(now.lesson.tasks[: now.number], 1):
        run = now.run if number == now.number else _run(config_of(task, now.config.dataset), services)
        if run is not None and run.state == "finished":
            found.append((task.title, readings(run, task)))
    return found


def readings(run: Run, task: Task) -> dict[str, float]:
    """The numbers that a task reads from its run, by the words for them; what is not there is left out."""
    found: dict[str, float] = {}
    for name in task.reads:
        value = _value(run, task, name)
        if value is not None:
            found[_words(name)] = value
    return found


def _words(name: str) -> str:
    if name == ACTIVE:
        return "Terms still active"
    if name.startswith(ON_MAP):
        return f"{METRICS[name.removeprefix(ON_MAP)].title} on the map"
    return METRICS[name].title


def _value(run: Run, task: Task, name: str) -> float | None:
    if name == ACTIVE:
        return _active(run)
    if not name.startswith(ON_MAP):
        return run.metrics.get(name)
    wanted = view_of(task).projection()
    try:
        drawing = None if wanted is None else run.drawing(wanted.id)
    except UnknownRun:
        return None
    if drawing is None or drawing.state != "finished":
        return None
    return _on_map(drawing.path)[name.removeprefix(ON_MAP)]


def _active(run: Run) -> float | None:
    """The mean share of active terms over the last tenth of a run."""
    steps = [event for event in run.events() if event["event"] == "step"]
    last = [event["active"] for event in steps if event["step"] > 0.9 * run.config.steps]
    return float(np.mean(last)) if last else None


@lru_cache(maxsize=64)
def _on_map(drawing: Path) -> Mapping[str, float]:
    """The retrieval scores of a finished drawing, were it the embedding."""
    places, labels = Drawing(drawing).coordinates, Run(drawing.parent.parent).labels
    return evaluate(places, labels, clustering=False, full_ranking=False, verification=False)


def _run(config: TrainConfig, services: Services) -> Run | None:
    try:
        return services.runs.get(config.id)
    except UnknownRun:
        return None
