"""The shelf: every run on this machine, to open, to compare, to keep and to throw away."""

import streamlit as st

from app import address, compare, shelf, state
from app.components import mount
from app.services import services

here = services()
ui = address.current(shelf.ShelfState, shelf.KEY)
here.tidy()


def arranged() -> None:
    """Take over how the person sorts and searches."""
    chosen = shelf.ShelfState.from_query(st.session_state["cards"].get("arranged") or {})
    ui.sort, ui.search = chosen.sort, chosen.search


def act() -> None:
    """Do what a card was told; leaving the page is done below."""
    told = st.session_state["cards"].get("act") or {}
    ui.act(told.get("what", ""), told.get("run", ""), told.get("value"), here.runs)


mount(
    "shelf",
    key="cards",
    data=shelf.shelf_data(ui, here) | {"explore": state.left().to_query(), "compare": compare.left().to_query()},
    on_arranged_change=arranged,
    on_act_change=act,
)
address.publish(ui)
