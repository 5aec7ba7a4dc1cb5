"""Page of a lesson: text, tasks, and a link to start it in Explore."""

import streamlit as st

from app.content.catalog_index import entry_title
from app.content.lessons import LESSONS
from app.panels import navigation


def lesson(name: str) -> None:
    """Draw it."""
    told = LESSONS[name]
    st.markdown(f"### {told.title}\n:small[Lesson · {told.minutes} minutes]")
    text, side = st.columns([5, 3], gap="large")
    with text:
        st.markdown(told.text)
        if told.related:
            st.markdown("**Related**")
            with st.container(horizontal=True):
                for kind, name in told.related:
                    navigation.link("learn", entry_title(kind, name), {kind: name})
    with side, st.container(border=True):
        st.markdown("**Predict, then see.** Commit to a guess, then the run shows the answer.")
        for number, task in enumerate(told.tasks, 1):
            st.markdown(f"{number}. {task.title}")
        navigation.link("explore", "Begin the lesson", {"lesson": told.name}, icon=":material/play_arrow:")
