"""Progress of a lesson: the state of its task, and the results of its runs."""

from dataclasses import dataclass

from dmlviz.config import TrainConfig
from dmlviz.lessons import Lesson, Task
from dmlviz.lessons.measurements import task_measurements
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.services import Services


@dataclass(frozen=True)
class TaskProgress:
    """A task with the run that answers it: `run` None before it was asked for, `over` once it has ended well.

    `held` is whether a teacher holds the answer back, `shown` whether a teacher has shown it to the class.
    """

    lesson: Lesson
    number: int
    task: Task
    guess: int | None
    config: TrainConfig
    run: Run | None
    over: bool
    held: bool = False
    shown: bool = False

    @property
    def is_revealed(self) -> bool:
        """Return whether the person has guessed and the run has answered."""
        return self.guess is not None and self.over and not self.held

    @property
    def is_question_open(self) -> bool:
        """Return whether the question is asked now."""
        return self.guess is None and (self.over or not self.task.view_before_guess)

    @property
    def shows_map(self) -> bool:
        """Return whether the map may be seen: before the guess only where the guess is about it.

        Who has guessed sees the run train, without scores while a teacher holds the answer back.
        """
        return self.run is not None and (self.guess is not None or self.task.view_before_guess)


def task_progress(ui: UIState, services: Services, dataset: str) -> TaskProgress | None:
    """Return the progress of the lesson that `ui` names; None without one. `dataset` is used while none is chosen."""
    if ui.active_task is None:
        return None
    lesson, task = ui.active_task
    config = task.training(ui.settings.get("dataset", dataset))
    run = _run(config, services)
    over = run is not None and run.state == "finished" and services.jobs.status(run.id).phase == "finished"
    is_held = services.classrooms.holds_back(services.person.id, lesson.name, ui.task)
    is_shown = services.classrooms.shows(services.person.id, lesson.name, ui.task)
    guess = ui.guess or services.classrooms.guess_of(services.person.id, lesson.name, ui.task)
    return TaskProgress(lesson, ui.task, task, guess, config, run, over, is_held, is_shown)


def task_view(task: Task) -> UIState:
    """Return a state that shows the map of a task."""
    return UIState.from_query({name: text for name, text in task.query.items() if name.partition(".")[0] == "view"})


def evaluate_answer(progress: TaskProgress, services: Services) -> list[tuple[str, dict[str, float]]]:
    """Return the results of the runs of this task and of those before it: title, values by their labels."""
    answers = []
    for number, task in enumerate(progress.lesson.tasks[: progress.number], 1):
        run = progress.run if number == progress.number else _run(task.training(progress.config.dataset), services)
        if run is not None and run.state == "finished":
            answers.append((task.title, task_measurements(run, task)))
    return answers


def _run(config: TrainConfig, services: Services) -> Run | None:
    try:
        return services.runs.get(config.id)
    except RunNotFoundError:
        return None
