"""Runs page: every run that this person sees, to open, compare, export, share or delete."""

import streamlit as st

from dmlviz_app.runs import panels
from dmlviz_app.runs import state as run_list
from dmlviz_app.server.housekeeping import enforce_quota
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary

app_services = session_services()
ui = url_state.get_or_create(run_list.RunListState, run_list.KEY)
with error_boundary("The limit of the disk"):
    enforce_quota(app_services)
with error_boundary("The queue"):
    panels.queue(app_services)
with error_boundary("The form of limits"):
    panels.limits(app_services)


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
    data=run_list.run_list_props(ui, app_services),
    on_arranged_change=on_sort_change,
    on_act_change=on_action,
)
url_state.write_url(ui)
