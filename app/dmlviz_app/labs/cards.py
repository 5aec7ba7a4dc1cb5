"""The cards of the page Labs: question, cost, and a small picture of the results."""

import streamlit as st

from dmlviz.labs.lab import Lab
from dmlviz.labs.lab_study import cost_in_words, ready_made, study_rows
from dmlviz.labs.registry import LABS
from dmlviz.labs.thumbnail import thumbnail
from dmlviz_app.labs.state import default_dataset
from dmlviz_app.server.services import Services
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.markdown import escape_markdown
from dmlviz_app.widgets.pictures import picture

COLUMNS = 3


def lab_cards(services: Services, note: str = "") -> None:
    """Render a card for each lab; above them a note."""
    st.markdown("### Labs")
    if note:
        st.caption(f":orange[{escape_markdown(note)}]")
    st.markdown(
        "Experiments of the field, on small images. Each asks a question: guess, then look at the answer, or run the "
        "experiment on this machine."
    )
    labs = list(LABS.values())
    for start in range(0, len(labs), COLUMNS):
        for column, lab in zip(st.columns(COLUMNS), labs[start : start + COLUMNS], strict=False):
            with column:
                _card(lab, services)


def _card(lab: Lab, services: Services) -> None:
    with st.container(border=True, gap="small", height="stretch"):
        navigation.link("labs", lab.title, {"lab": lab.name}, icon=":material/experiment:")
        st.markdown(lab.question)
        study = ready_made(lab.name) or services.studies.get(lab.name, "quick", default_dataset(lab, services))
        if study is not None:
            dark = st.context.theme.type == "dark"
            picture(thumbnail(lab.figures[0], study_rows(study), dark), alt=lab.figures[0].title)
        st.caption(f"On this machine: {cost_in_words(lab, 'quick', default_dataset(lab, services))} for the quick run.")
