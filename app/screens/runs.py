"""Runs page: every run that this person sees, to open, compare, export, share or delete."""

import streamlit as st

from app.panels import limits, queue
from app.runtime import url_state
from app.runtime.services import session_services
from app.state import compare, explore, run_list
from app.widgets.components import mount

app_services = session_services()
ui = url_state.get_or_create(run_list.RunListState, run_list.KEY)
app_services.enforce_quota()
queue.queue(app_services)
limits.limits(app_services)


def on_sort_change() -> None:
    """Copy sort order and search text from the component."""
    order = run_list.RunListState.from_query(st.session_state["cards"].get("arranged") or {})
    ui.sort, ui.search, ui.group = order.sort, order.search, order.group


def on_action() -> None:
    """Apply a card action."""
    action = st.session_state["cards"].get("act") or {}
    ui.act(action.get("what", ""), action.get("run", ""), action.get("value"), app_services.runs)


mount(
    "run_list",
    key="cards",
    data=run_list.run_list_props(ui, app_services)
    | {"explore": explore.saved_state().to_query(), "compare": compare.saved_state().to_query()},
    on_arranged_change=on_sort_change,
    on_act_change=on_action,
)
url_state.write_url(ui)
