"""The exam questions of Learn: each is answered on a click, and linked to where one sees the answer happen."""

import streamlit as st

from app.content.catalog_index import LAB_KIND, entry_title
from app.content.exam import QUESTIONS
from app.panels import navigation
from dmlviz.lessons import LESSONS

TEXT = """
### Exam questions
Answer each for yourself before you open it. Below each answer is where to see it happen.
"""
READABLE = 900  # pixels


def exam() -> None:
    """Render the questions as cards."""
    st.markdown(TEXT)
    for number, question in enumerate(QUESTIONS, 1):
        with st.expander(f"**{number}.** {question.question}", width=READABLE):
            st.markdown(question.answer)
            with st.container(horizontal=True):
                for kind, name in question.links:
                    navigation.link("labs" if kind == LAB_KIND.name else "learn", _title(kind, name), {kind: name})


def _title(kind: str, name: str) -> str:
    if kind == "lesson":
        return f"Lesson: {LESSONS[name].title}"
    return f"Lab: {LAB_KIND.catalog[name].title}" if kind == LAB_KIND.name else entry_title(kind, name)
