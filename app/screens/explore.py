"""Explore page: set up, train, watch, query."""

import streamlit as st

from app.panels import (
    batch_explorer,
    curves,
    inspector,
    map_panel,
    navigation,
    sidebar,
    table,
    task,
    templates,
    toolbar,
)
from app.runtime import url_state
from app.state import explore
from app.state.current_view import context_key, page_context
from app.widgets.error_boundary import error_boundary
from app.widgets.markdown import escape_markdown
from dmlviz.runs.damage import damage_summary
from dmlviz.runs.damage_cache import run_damage

context, progress = sidebar.last_explored()

if progress is not None:
    task.panel(context, progress)

if progress is not None and not progress.shows_map:
    pass  # the map would give the answer away
elif context.run_view is None:
    st.caption("No runs yet. Press Train to start one.")
else:
    left, right = st.columns([7, 3])
    if progress is None or progress.is_revealed:
        with left:
            toolbar.toolbar(context.ui, context.services, context.run_view)
    with right:
        inspector.selected_tab()
    run = context.run_view.run
    damage = () if context.run_view.live else run_damage(run, context.services.runs.damage_cache)
    if damage:
        st.caption(f":orange[{escape_markdown(damage_summary(run, damage))}]")
    with navigation.top_bar_slot():
        map_panel.progress_panel(context.ui, context.services, context.run_view)
    key, contexts = context_key(context), [context]

    @st.fragment
    def map_and_inspector() -> None:
        """The part that a click on the map changes, so that nothing else is run or sent again."""
        with error_boundary():
            whole_page = bool(contexts)
            fragment_context = contexts.pop() if contexts else page_context()
            listed = not whole_page and table.follows(fragment_context.ui)
            if fragment_context.run_view is None or context_key(fragment_context) != key or listed:
                url_state.rerun()
            neighbors = inspector.pinned_neighbors(fragment_context.ui, fragment_context.run_view)
            # Two maps need the whole width.
            beside = fragment_context.run_view.second is not None
            left, right = (st.container(), st.container()) if beside else st.columns([7, 3])
            with right:
                answer = inspector.inspector_panel(
                    fragment_context.ui, fragment_context.services, fragment_context.run_view, neighbors
                )
            with left:
                map_panel.map_views(
                    fragment_context.ui, fragment_context.services, fragment_context.run_view, neighbors, answer
                )
            explore.publish(fragment_context.ui)

    map_and_inspector()
    if progress is None or progress.is_revealed or not progress.task.view_before_guess:
        map_panel.scores_panel(context.run_view)
        table.table_panel(context)
        batch_explorer.batch_explorer(context.run_view)
        curves.curves(context)
        templates.templates_panel(context.run_view)

explore.publish(context.ui)
