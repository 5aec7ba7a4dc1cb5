"""A lesson in Explore: a slim panel with the task above the map, the outline in the sidebar. Predict, then see."""

import streamlit as st

from app import navigation
from app.identity import owner
from app.parts import settings
from app.services import Services
from app.shown import Now
from app.state import LIVE, UIState
from app.taught import Taught, answers, taught, view_of
from app.words import plain
from dmlviz.data.declared import DATASETS
from dmlviz.errors import UserError

CHOSEN = "lesson.guess"
VIEWED = "lesson.viewed"


def under_way(now: Now) -> Taught | None:
    """The lesson's task, once the map is set as the task wants it."""
    found = taught(now.ui, now.services, settings.stand_in(now.services))
    if found is None or not found.over or found.run is None:
        return found
    if found.asked and found.task.look_first and now.ui.run != found.run.id:
        now.ui.show(found.run.id)
        st.rerun()
    if now.ui.run != found.run.id:
        return found
    wanted, mark = view_of(found.task), (found.lesson.name, found.number, found.run.id)
    if wanted.view != LIVE and st.session_state.get(VIEWED) != mark:
        st.session_state[VIEWED] = mark
        if now.ui.view == LIVE:
            now.ui.look(wanted.view)
            now.ui.params |= wanted.params
            st.rerun()
    return found


def outline(now: Now, found: Taught) -> None:
    """The tasks, the settings that are open now, the ways out."""
    ui = now.ui
    st.markdown(f"**{found.lesson.title}**")
    for number, task in enumerate(found.lesson.tasks, 1):
        here = "**" if number == found.number else ""
        st.markdown(f"{number}. {here}{task.title}{here}")
    navigation.link("learn", "The text of the lesson", {"lesson": found.lesson.name})
    st.button("Leave the lesson", key="lesson.leave", on_click=ui.teach, args=(None,))
    if found.revealed and found.task.open:
        st.caption("Now try yourself:")
        settings.settings(ui, now.services, now.shown, found.task.open)
        return
    for note in ui.notes:
        st.caption(f":orange[{plain(note)}]")


def panel(now: Now, found: Taught) -> None:
    """The task: its question, then the wait for the run, then the answer."""
    with st.container(border=True, key="lesson", gap="small"):
        st.markdown(f"**{found.task.title}** :small[task {found.number} of {len(found.lesson.tasks)}]")
        if found.asked:
            _question(now, found)
        elif found.revealed:
            _answer(now, found)
        else:
            _wait(now, found)


def _question(now: Now, found: Taught) -> None:
    task = found.task
    st.markdown(" ".join(filter(None, (task.look, task.question))))
    chosen = st.session_state.get(CHOSEN)
    with st.container(horizontal=True, vertical_alignment="center"):
        options = list(range(1, len(task.guesses) + 1))
        if chosen not in options:
            st.session_state[CHOSEN] = None
        st.pills(
            "Your guess", options, format_func=lambda n: task.guesses[n - 1], key=CHOSEN, label_visibility="collapsed"
        )
        label = "Commit" if found.over else "Commit and train"
        picked = st.session_state[CHOSEN] is not None
        st.button(
            label,
            type="primary",
            key="lesson.commit",
            disabled=not picked,
            on_click=_commit,
            args=(now.ui, now.services, found),
        )


def _commit(ui: UIState, services: Services, found: Taught) -> None:
    chosen = st.session_state.get(CHOSEN)
    if chosen is None:
        return
    _train(ui, services, found)
    if not ui.notes:
        ui.guess = chosen


def _train(ui: UIState, services: Services, found: Taught) -> None:
    """Show the run that answers, trained first where it is not there yet; what is in the way is noted."""
    ui.notes.clear()
    try:
        run = services.jobs.submit(found.config, owner())
    except UserError as error:
        ui.notes.append(str(error))
        return
    if ui.run != run:
        ui.show(run)


def _wait(now: Now, found: Taught) -> None:
    said = [] if found.guess is None else [f"You guessed: {found.task.guesses[found.guess - 1]}."]
    stalled = found.run is None or (now.shown is not None and found.run.id == now.shown.run.id and not now.shown.live)
    if stalled or now.ui.run is None:
        words = found.task.look or "The answer comes from a real run."
        st.markdown(" ".join([*said, words]))
        st.button("Train", type="primary", key="lesson.train", on_click=_train, args=(now.ui, now.services, found))
        return
    st.markdown(" ".join([*said, "The net is training; the answer comes when it has finished."]))


def _answer(now: Now, found: Taught) -> None:
    assert found.guess is not None
    assert found.run is not None
    task = found.task
    right = found.guess - 1 == task.right
    verdict = "That is it." if right else f"The run says: {task.guesses[task.right]}."
    text, table = st.columns([3, 2])
    with text:
        st.markdown(f"You guessed: {task.guesses[found.guess - 1]}. **{verdict}** {task.reveal}")
        with st.container(horizontal=True):
            _onward(now, found)
    with table:
        st.markdown(_table(answers(found, now.services)))
        labels, config = found.run.labels, found.config
        count = "" if labels is None else f" {len(labels):,}"
        st.caption(f"On all{count} test images of {DATASETS[config.dataset].title}, after {config.steps:,} steps.")


def _onward(now: Now, found: Taught) -> None:
    assert found.run is not None
    ui = now.ui
    if found.number < len(found.lesson.tasks):
        label = f"Next: {found.lesson.tasks[found.number].title}"
        following = (found.lesson.name, found.number + 1)
        st.button(label, type="primary", key="lesson.next", on_click=ui.teach, args=following)
    else:
        navigation.link("learn", "Back to the lessons", {})
    if ui.run != found.run.id:
        st.button("Show that run again", key="lesson.again", on_click=ui.show, args=(found.run.id,))


def _table(rows: list[tuple[str, dict[str, float]]]) -> str:
    """The runs of a lesson that have what the last one is about, one in a line."""
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
