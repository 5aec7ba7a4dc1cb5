"""Page of one lesson: its text, its tasks, and the way to begin it."""

import streamlit as st

from dmlviz.lessons import LESSONS
from dmlviz_app.learn.catalog_index import entry_title
from dmlviz_app.widgets import navigation


def render_lesson(name: str) -> None:
    """Render it."""
    lesson = LESSONS[name]
    st.markdown(f"### {lesson.title}\n:small[Lesson · {lesson.part} · {lesson.minutes} minutes]")
    text, side = st.columns([5, 3], gap="large")
    with text:
        st.markdown(lesson.text)
        if lesson.related:
            st.markdown("**Related**")
            with st.container(horizontal=True):
                for kind, entry in lesson.related:
                    navigation.link("learn", entry_title(kind, entry), {kind: entry})
    with side, st.container(border=True):
        st.markdown("**Predict, then see.** Commit to a guess, then the run shows the answer.")
        for number, task in enumerate(lesson.tasks, 1):
            st.markdown(f"{number}. {task.title}")
        navigation.link("explore", "Begin the lesson", {"lesson": lesson.name}, icon=":material/play_arrow:")
