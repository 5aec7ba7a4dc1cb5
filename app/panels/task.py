"""Lesson in Explore: a panel with the task above the map, and the outline in the sidebar."""

import streamlit as st

from app.panels import navigation, settings
from app.runtime.services import Services
from app.state.current_view import PageContext
from app.state.explore import UIState
from app.state.task_progress import TaskProgress, evaluate_answer, task_progress, task_view
from app.widgets.markdown import escape_markdown
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.runs.run import LIVE

_GUESS_KEY = "lesson.guess"
_VIEWED_KEY = "lesson.viewed"


def active_lesson(now: PageContext) -> TaskProgress | None:
    """Progress of the active lesson task, after setting the view that it asks for."""
    found = task_progress(now.ui, now.services, settings.available_dataset(now.services))
    if found is None or not found.over or found.run is None:
        return found
    if found.is_question_open and found.task.view_before_guess and now.ui.run != found.run.id:
        now.ui.show(found.run.id)
        st.rerun()
    if now.ui.run != found.run.id:
        return found
    wanted, mark = task_view(found.task), (found.lesson.name, found.number, found.run.id)
    if wanted.view != LIVE and st.session_state.get(_VIEWED_KEY) != mark:
        st.session_state[_VIEWED_KEY] = mark
        if now.ui.view == LIVE:
            now.ui.set_view(wanted.view)
            now.ui.params |= wanted.params
            st.rerun()
    return found


def lesson_outline(now: PageContext, found: TaskProgress) -> None:
    """Render the tasks, the settings that the lesson opens, and the exits."""
    ui = now.ui
    st.markdown(f"**{found.lesson.title}**")
    for number, task in enumerate(found.lesson.tasks, 1):
        here = "**" if number == found.number else ""
        st.markdown(f"{number}. {here}{task.title}{here}")
    navigation.link("learn", "Lesson text", {"lesson": found.lesson.name})
    st.button("Exit lesson", key="lesson.leave", on_click=ui.start_task, args=(None,))
    if found.is_revealed and found.task.follow_up:
        st.caption("Next, try it yourself:")
        settings.settings(ui, now.services, now.shown, found.task.follow_up)
        return
    for note in ui.messages:
        st.caption(f":orange[{escape_markdown(note)}]")


def panel(now: PageContext, found: TaskProgress) -> None:
    """Render the task: question, then training, then answer."""
    with st.container(border=True, key="lesson", gap="small"):
        st.markdown(f"**{found.task.title}** :small[task {found.number} of {len(found.lesson.tasks)}]")
        if found.is_question_open:
            _question(now, found)
        elif found.is_revealed:
            _answer(now, found)
        else:
            _wait(now, found)


def _question(now: PageContext, found: TaskProgress) -> None:
    task = found.task
    st.markdown(" ".join(filter(None, (task.instructions, task.question))))
    chosen = st.session_state.get(_GUESS_KEY)
    with st.container(horizontal=True, vertical_alignment="center"):
        options = list(range(1, len(task.guesses) + 1))
        if chosen not in options:
            st.session_state[_GUESS_KEY] = None
        st.pills(
            "Your guess",
            options,
            format_func=lambda n: task.guesses[n - 1],
            key=_GUESS_KEY,
            label_visibility="collapsed",
        )
        label = "Commit" if found.over else "Commit and train"
        picked = st.session_state[_GUESS_KEY] is not None
        st.button(
            label,
            type="primary",
            key="lesson.commit",
            disabled=not picked,
            on_click=_submit_guess,
            args=(now.ui, now.services, found),
        )


def _submit_guess(ui: UIState, services: Services, found: TaskProgress) -> None:
    chosen = st.session_state.get(_GUESS_KEY)
    if chosen is None:
        return
    _train(ui, services, found)
    if not ui.messages:
        ui.guess = chosen


def _train(ui: UIState, services: Services, found: TaskProgress) -> None:
    """Show the run that gives the answer, after training it if needed; on failure note the message."""
    ui.messages.clear()
    try:
        run = services.jobs.submit(found.config)
    except UserError as error:
        ui.messages.append(str(error))
        return
    if ui.run != run:
        ui.show(run)


def _wait(now: PageContext, found: TaskProgress) -> None:
    said = [] if found.guess is None else [f"You guessed: {found.task.guesses[found.guess - 1]}."]
    stalled = found.run is None or (now.shown is not None and found.run.id == now.shown.run.id and not now.shown.live)
    if stalled or now.ui.run is None:
        words = found.task.instructions or "A real run gives the answer."
        st.markdown(" ".join([*said, words]))
        st.button("Train", type="primary", key="lesson.train", on_click=_train, args=(now.ui, now.services, found))
        return
    st.markdown(" ".join([*said, "Training … the answer appears when it finishes."]))


def _answer(now: PageContext, found: TaskProgress) -> None:
    assert found.guess is not None
    assert found.run is not None
    task = found.task
    right = found.guess - 1 == task.answer
    verdict = "Correct." if right else f"The run says: {task.guesses[task.answer]}."
    text, table = st.columns([3, 2])
    with text:
        st.markdown(f"You guessed: {task.guesses[found.guess - 1]}. **{verdict}** {task.reveal}")
        with st.container(horizontal=True):
            _next_button(now, found)
    with table:
        st.markdown(_table(evaluate_answer(found, now.services)))
        labels, config = found.run.labels, found.config
        count = "" if labels is None else f" {len(labels):,}"
        st.caption(f"On all{count} test images of {DATASETS[config.dataset].title}, after {config.steps:,} steps.")


def _next_button(now: PageContext, found: TaskProgress) -> None:
    assert found.run is not None
    ui = now.ui
    if found.number < len(found.lesson.tasks):
        label = f"Next: {found.lesson.tasks[found.number].title}"
        following = (found.lesson.name, found.number + 1)
        st.button(label, type="primary", key="lesson.next", on_click=ui.start_task, args=following)
    else:
        navigation.link("learn", "Back to the lessons", {})
    if ui.run != found.run.id:
        st.button("Show the run", key="lesson.again", on_click=ui.show, args=(found.run.id,))


def _table(rows: list[tuple[str, dict[str, float]]]) -> str:
    """Markdown table of the lesson's runs that have the measurements of the last one."""
    names = list(rows[-1][1]) if rows else []
    rows = [(title, values) for title, values in rows if set(names) & set(values)]
    lines = [["", *names], ["---"] * (len(names) + 1)]
    lines += [[title, *(_number(values.get(name)) for name in names)] for title, values in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}"
