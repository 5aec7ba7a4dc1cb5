"""Explore page: set up, train, watch, query."""

import streamlit as st

from app.panels import batch_explorer, curves, inspector, map_panel, navigation, sidebar, task, toolbar
from app.state import explore
from app.state.current_view import context_key, page_context
from app.widgets.error_boundary import error_boundary
from app.widgets.markdown import escape_markdown
from dmlviz.runs.damage import damage_summary
from dmlviz.runs.damage_cache import run_damage

now, taught = sidebar.last_explored()

if taught is not None:
    task.panel(now, taught)

if taught is not None and not taught.shows_map:
    pass  # the map would give the answer away
elif now.shown is None:
    st.caption("No runs yet. Press Train to start one.")
else:
    left, right = st.columns([7, 3])
    if taught is None or taught.is_revealed:
        with left:
            toolbar.toolbar(now.ui, now.services, now.shown)
    with right:
        inspector.selected_tab()
    said = "" if now.shown.live else damage_summary(run_damage(now.shown.run, now.services.runs.damage_cache))
    if said:
        st.caption(f":orange[{escape_markdown(said)}]")
    with navigation.top_bar_slot():
        map_panel.progress_panel(now.ui, now.services, now.shown)
    seen, fresh = context_key(now), [now]

    @st.fragment
    def map_and_inspector() -> None:
        """The part that a click on the map changes, so that nothing else is run or sent again."""
        with error_boundary():
            here = fresh.pop() if fresh else page_context()
            if here.shown is None or context_key(here) != seen:
                st.rerun()
            neighbors = inspector.pinned_neighbors(here.ui, here.shown)
            left, right = st.columns([7, 3])
            with right:
                answer = inspector.inspector_panel(here.ui, here.services, here.shown, neighbors)
            with left:
                map_panel.map_view(here.ui, here.shown, neighbors, answer)
            explore.publish(here.ui)

    map_and_inspector()
    if taught is None or taught.is_revealed or not taught.task.view_before_guess:
        map_panel.scores_panel(now.shown)
        batch_explorer.batch_explorer(now.shown)
        curves.curves(now)

explore.publish(now.ui)
