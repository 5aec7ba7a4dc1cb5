"""The cards of the page Labs: question, cost, and a small picture of the results."""

import streamlit as st

from dmlviz.labs.lab import Lab
from dmlviz.labs.lab_study import cost_in_words, ready_made, study_rows
from dmlviz.labs.registry import LABS
from dmlviz.labs.thumbnail import thumbnail
from dmlviz_app.labs.state import default_dataset
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.messages import Messages
from dmlviz_app.widgets.protocol import Card, CardIndexProps, CardSection

TEXT = (
    "Experiments of the field, on small images. Each asks a question: guess, then look at the answer, or run the "
    "experiment on this machine."
)


def lab_cards(services: Services, messages: Messages) -> None:
    """Render a card for each lab; above them, that the address names one that does not exist."""
    messages.show("lab")
    cards = [_card(lab, services) for lab in LABS.values()]
    section = CardSection(title="Labs", text=TEXT, heading=3, form="large", cards=cards)
    mount("card_index", key="labs.cards", data=CardIndexProps(sections=[section], pictures=""))


def _card(lab: Lab, services: Services) -> Card:
    dataset = default_dataset(lab, services)
    card = Card(
        address=f"labs?lab={lab.name}",
        title=lab.title,
        text=lab.question,
        note=f"On this machine: {cost_in_words(lab, 'quick', dataset)} for the quick run.",
        picture="",
    )
    study = ready_made(lab.name) or services.studies.get(lab.name, "quick", dataset)
    if study is not None:
        card["chart"] = thumbnail(lab.figures[0], study_rows(study), st.context.theme.type == "dark")
    return card
