"""Page of a lesson: text, tasks, and a link to start it in Explore."""

import streamlit as st

from app.content.catalog_index import entry_title
from app.panels import navigation
from dmlviz.lessons import LESSONS


def lesson(name: str) -> None:
    """Draw it."""
    entry = LESSONS[name]
    st.markdown(f"### {entry.title}\n:small[Lesson · {entry.minutes} minutes]")
    text, side = st.columns([5, 3], gap="large")
    with text:
        st.markdown(entry.text)
        if entry.related:
            st.markdown("**Related**")
            with st.container(horizontal=True):
                for kind, name in entry.related:
                    navigation.link("learn", entry_title(kind, name), {kind: name})
    with side, st.container(border=True):
        st.markdown("**Predict, then see.** Commit to a guess, then the run shows the answer.")
        for number, task in enumerate(entry.tasks, 1):
            st.markdown(f"{number}. {task.title}")
        navigation.link("explore", "Begin the lesson", {"lesson": entry.name}, icon=":material/play_arrow:")
