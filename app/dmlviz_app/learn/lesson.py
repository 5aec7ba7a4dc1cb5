"""Pages of a lesson, with the question of its first task and a guess before its text, and of an answer."""

import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz.lessons import LESSONS, Lesson
from dmlviz_app.forms.view_state import saved_state
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.cards import card, section, show
from dmlviz_app.learn.catalog_index import entry_title, page_kinds
from dmlviz_app.learn.sheet import may_read_sheets
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import navigation


def render_lesson(name: str) -> None:
    """Render it."""
    lesson = LESSONS[name]
    st.markdown(f"### {lesson.title}\n:small[Lesson · {lesson.part} · {lesson.minutes} minutes]")
    text, side = st.columns([5, 3], gap="large")
    with text:
        _first_question(lesson)
        explored = saved_state()
        has_guessed = explored.lesson == name and (explored.guess is not None or explored.task > 1)
        with st.expander("The text, which holds the answers", expanded=has_guessed):
            st.markdown(with_terms(lesson.text))
        if lesson.related:
            st.markdown("**Related**")
            with st.container(horizontal=True):
                for kind, entry in lesson.related:
                    _entry_link(kind, entry)
    with side:
        with st.container(border=True):
            st.markdown("**Predict, then see.** Commit to a guess, then the run shows the answer.")
            for number, task in enumerate(lesson.tasks, 1):
                st.markdown(f"{number}. {task.title}")
        if may_read_sheets(session_services()):
            # Relative, as the app may lie below a path.
            st.link_button("Teacher's sheet", f"{ROUTES}/lessons/{lesson.name}/sheet.html")


def _first_question(lesson: Lesson) -> None:
    """Render the first task's question with the lesson's picture, its guesses, and the button that begins it."""
    task, begin = lesson.tasks[0], {"lesson": lesson.name}
    with st.container(border=True, key="lesson-begin"):
        picture, question = st.columns([1, 2])
        with picture:
            drawing = card("lesson", lesson.name)
            drawing.update({"address": f"./?lesson={lesson.name}", "title": task.title, "text": ""})
            show([section([drawing], "small")], key="lesson.picture")
        with question:
            st.markdown(with_terms(" ".join(filter(None, (task.instructions, task.question)))))
        if not task.view_before_guess:  # there the guess is about the map
            guesses = range(1, len(task.guesses) + 1)
            guess = st.pills(
                "Your guess",
                guesses,
                format_func=lambda number: task.guesses[number - 1],
                key=f"lesson.first.{lesson.name}",
                label_visibility="collapsed",
            )
            begin |= {} if guess is None else {"guess": str(guess)}
        if st.button("Begin", type="primary", key="lesson.begin", icon=":material/play_arrow:"):
            navigation.go("explore", begin)


def _entry_link(kind: str, name: str) -> None:
    title, other = entry_title(kind, name), page_kinds().get(kind)
    if other is None:
        navigation.link("learn", title, {kind: name})
    else:
        navigation.link(other.page, f"{other.noun}: {title}", {kind: name})


DOES = {
    "explore": "Open in Explore, ready to train",
    "labs": "Open the lab",
    "learn": "Open",
    "compare": "Open in Compare",
}


def render_answer(name: str) -> None:
    """Render it."""
    answer = ANSWERS[name]
    st.markdown(f"### {answer.title}\n:small[Answer]")
    text, side = st.columns([5, 3], gap="large")
    with text:
        st.markdown(with_terms(answer.text))
    with side:
        for run in answer.runs:
            with st.container(border=True, gap="small"):
                st.markdown(f"**{run.title}**")
                st.caption(run.measured)
                navigation.link(run.page, DOES[run.page], run.query, icon=":material/play_arrow:")
    if answer.related:
        show([section((card(kind, of) for kind, of in answer.related), "small", "Related", heading=4)], key="related")
