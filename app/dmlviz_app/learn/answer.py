"""Page of one answer: its text, and the runs that show the fault and its remedy."""

import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.cards import card, section, show
from dmlviz_app.widgets import navigation

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
