"""Lesson in Explore: a panel with the task above the map, and the outline in the sidebar."""

from dataclasses import dataclass

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.glossary import with_terms
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.lessons import MEASURED, Lesson, Task
from dmlviz.lessons.measurements import measured_after, measurement_table, task_measurements
from dmlviz.runs.run import LIVE, Run, RunNotFoundError
from dmlviz_app.explore import settings
from dmlviz_app.forms.training_settings import FORM
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.services import Services
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.actions import button
from dmlviz_app.workbench.current_view import PageContext


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

        A person who has guessed sees the run train, without scores while a teacher holds the answer back.
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


_GUESS_KEY = "lesson.guess"
_VIEWED_KEY = "lesson.viewed"


def active_lesson(context: PageContext) -> TaskProgress | None:
    """Progress of the active lesson task, after setting the view that it asks for."""
    progress = task_progress(context.ui, context.services, context.services.datasets.default())
    if progress is None or not progress.over or progress.run is None:
        return progress
    if progress.is_question_open and progress.task.view_before_guess and context.ui.run != progress.run.id:
        context.ui.show(progress.run.id)
        st.rerun()
    if context.ui.run != progress.run.id:
        return progress
    view_state, mark = task_view(progress.task), (progress.lesson.name, progress.number, progress.run.id)
    if view_state.view != LIVE and st.session_state.get(_VIEWED_KEY) != mark:
        st.session_state[_VIEWED_KEY] = mark
        if context.ui.view == LIVE:
            context.ui.set_view(view_state.view)
            context.ui.params |= view_state.params
            st.rerun()
    return progress


def lesson_outline(context: PageContext, progress: TaskProgress) -> None:
    """Render the tasks, the settings that the lesson opens, and the exits."""
    ui = context.ui
    st.markdown(f"**{progress.lesson.title}**")
    for number, task in enumerate(progress.lesson.tasks, 1):
        bold = "**" if number == progress.number else ""
        st.markdown(f"{number}. {bold}{task.title}{bold}")
    navigation.link("learn", "Lesson text", {"lesson": progress.lesson.name})
    button("Exit lesson", key="lesson.leave", on_click=ui.start_task, args=(None,))
    if progress.is_revealed and progress.task.follow_up:
        st.caption("Next, try it yourself:")
        settings.settings(ui, context.services, context.run_view, progress.task.follow_up)
        return


def panel(context: PageContext, progress: TaskProgress) -> None:
    """Render the task: question, then training, then answer."""
    with st.container(border=True, key="lesson", gap="small"):
        st.markdown(f"**{progress.task.title}** :small[task {progress.number} of {len(progress.lesson.tasks)}]")
        if progress.is_question_open:
            _question(context, progress)
        elif progress.held and progress.guess is not None:
            _message(progress)
        elif progress.is_revealed:
            _answer(context, progress)
        else:
            _wait(context, progress)
        if not progress.is_revealed:  # then the sidebar has a Train of its own
            context.ui.messages.show("train")


def _question(context: PageContext, progress: TaskProgress) -> None:
    task = progress.task
    st.markdown(with_terms(" ".join(filter(None, (task.instructions, task.question)))))
    guess = st.session_state.get(_GUESS_KEY)
    with st.container(horizontal=True, vertical_alignment="center"):
        options = list(range(1, len(task.guesses) + 1))
        if guess is not None and guess not in options:  # to set None again would undo a click under way
            st.session_state[_GUESS_KEY] = None
        st.pills(
            "Your guess",
            options,
            format_func=lambda n: task.guesses[n - 1],
            key=_GUESS_KEY,
            label_visibility="collapsed",
        )
        label = "Commit" if progress.over else "Commit and train"
        has_guess = st.session_state[_GUESS_KEY] is not None
        button(
            label,
            type="primary",
            key="lesson.commit",
            disabled=not has_guess,
            on_click=_submit_guess,
            args=(context.ui, context.services, progress),
        )


def _submit_guess(ui: UIState, services: Services, progress: TaskProgress) -> None:
    guess = st.session_state.get(_GUESS_KEY)
    if guess is None:
        return
    _train(ui, services)
    if "train" not in ui.messages.all():
        ui.guess = guess
        services.classrooms.guess(services.person.id, progress.lesson.name, progress.number, guess)


def _train(ui: UIState, services: Services) -> None:
    """Show the run that gives the answer, after training it if needed; on failure note the message.

    Its settings are those of now: the button may have been drawn before the last choice.
    """
    ui.messages.forget(*FORM)
    progress = task_progress(ui, services, services.datasets.default())
    if progress is None:  # the lesson was left
        return
    try:
        run = services.jobs.train(progress.config)
    except UserError as error:
        ui.messages.say("train", error, lambda: (ui.task, ui.lesson, services.jobs.may_train(progress.config)))
        return
    if ui.run != run:
        ui.show(run)


def _message(progress: TaskProgress) -> None:
    assert progress.guess is not None
    guess = progress.task.guesses[progress.guess - 1]
    st.markdown(f"You guessed: {guess}. The answer appears when your teacher shows it to the class.")


def _wait(context: PageContext, progress: TaskProgress) -> None:
    sentences, result = [], "the answer appears"
    if progress.guess is not None and progress.shown:
        sentences, result = [_verdict(progress, progress.guess)], "the figures appear"
    elif progress.guess is not None:
        sentences = [f"You guessed: {progress.task.guesses[progress.guess - 1]}."]
    needs_training = progress.run is None or (
        context.run_view is not None and progress.run.id == context.run_view.run.id and not context.run_view.live
    )
    if needs_training or context.ui.run is None:
        instructions = progress.task.instructions or "A real run gives the answer."
        st.markdown(" ".join([*sentences, instructions]))
        button("Train", type="primary", key="lesson.train", on_click=_train, args=(context.ui, context.services))
        return
    st.markdown(" ".join([*sentences, f"Training … {result} when it finishes."]))


def _answer(context: PageContext, progress: TaskProgress) -> None:
    assert progress.guess is not None
    assert progress.run is not None
    text, table = st.columns([3, 2])
    with text:
        st.markdown(with_terms(_verdict(progress, progress.guess)))
        with st.container(horizontal=True):
            _next_button(context, progress)
    with table:
        st.markdown(with_terms(measurement_table(evaluate_answer(progress, context.services))))
        labels, config = progress.run.labels, progress.config
        count = "" if labels is None else f" {len(labels):,}"
        after = measured_after(progress.lesson.tasks[: progress.number], config.dataset)
        st.caption(f"On all{count} test images of {DATASETS[config.dataset].title}, {after}.")


def _verdict(progress: TaskProgress, guess: int) -> str:
    task = progress.task
    dataset = progress.config.dataset
    says = "The run says" if progress.over and dataset in MEASURED else "The answer is"
    verdict = "Correct." if guess - 1 == task.answer else f"{says}: {task.guesses[task.answer]}."
    return f"You guessed: {task.guesses[guess - 1]}. **{verdict}** {task.explanation(dataset)}"


def _next_button(context: PageContext, progress: TaskProgress) -> None:
    assert progress.run is not None
    ui = context.ui
    if progress.number < len(progress.lesson.tasks):
        label = f"Next: {progress.lesson.tasks[progress.number].title}"
        next_task = (progress.lesson.name, progress.number + 1)
        button(label, type="primary", key="lesson.next", on_click=ui.start_task, args=next_task)
    else:
        navigation.link("learn", "Back to the lessons", {})
    if ui.run != progress.run.id:
        button("Show the run", key="lesson.again", on_click=ui.show, args=(progress.run.id,))
