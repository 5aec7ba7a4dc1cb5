"""The shelf: every run on this machine, to open and to compare."""

import streamlit as st

from app import address, navigation, shelf, state
from app.components import mount
from app.services import services

here = services()
ui = address.current(shelf.ShelfState, shelf.KEY)


def arranged() -> None:
    """Take over how the person sorts and searches."""
    chosen = st.session_state["cards"].get("arranged") or {}
    changed = shelf.ShelfState.from_query(chosen)
    ui.sort, ui.search = changed.sort, changed.search


said = mount(
    "shelf",
    key="cards",
    data={"cards": shelf.cards(here), "sort": ui.sort, "search": ui.search},
    on_arranged_change=arranged,
    on_open_change=lambda: None,
)
address.publish(ui)
if said.open:
    state.left().show(said.open)
    navigation.go("explore")
