"""The shelf: every run on this machine, to open, to compare, to keep and to throw away."""

import streamlit as st

from app.components import mount
from app.runtime import url_state
from app.runtime.services import services
from app.state import compare, explore, run_list

here = services()
ui = url_state.current(run_list.ShelfState, run_list.KEY)
here.tidy()


def arranged() -> None:
    """Take over how the person sorts and searches."""
    chosen = run_list.ShelfState.from_query(st.session_state["cards"].get("arranged") or {})
    ui.sort, ui.search = chosen.sort, chosen.search


def act() -> None:
    """Do what a card was told; leaving the page is done below."""
    told = st.session_state["cards"].get("act") or {}
    ui.act(told.get("what", ""), told.get("run", ""), told.get("value"), here.runs)


mount(
    "shelf",
    key="cards",
    data=run_list.shelf_data(ui, here) | {"explore": explore.left().to_query(), "compare": compare.left().to_query()},
    on_arranged_change=arranged,
    on_act_change=act,
)
url_state.publish(ui)
