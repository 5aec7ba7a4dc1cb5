"""Page of one lesson: its text, its tasks, and the way to begin it."""

import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz.lessons import LESSONS
from dmlviz_app.learn.catalog_index import LAB_KIND, entry_title
from dmlviz_app.protocol.common import ROUTES
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import navigation


def render_lesson(name: str) -> None:
    """Render it."""
    lesson = LESSONS[name]
    st.markdown(f"### {lesson.title}\n:small[Lesson · {lesson.part} · {lesson.minutes} minutes]")
    text, side = st.columns([5, 3], gap="large")
    with text:
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
            navigation.link("explore", "Begin the lesson", {"lesson": lesson.name}, icon=":material/play_arrow:")
        if session_services().may_read_sheets:
            # Relative, as the app may lie below a path.
            st.link_button("Teacher's sheet", f"{ROUTES}/lessons/{lesson.name}/sheet.html", type="tertiary")


def _entry_link(kind: str, name: str) -> None:
    if kind == LAB_KIND.name:
        navigation.link("labs", f"Lab: {LAB_KIND.catalog[name].title}", {kind: name})
    else:
        navigation.link("learn", entry_title(kind, name), {kind: name})
