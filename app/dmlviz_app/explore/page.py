"""Explore page: set up, train, watch, query."""

import streamlit as st

from dmlviz.runs.damage import damage_summary
from dmlviz.runs.damage_cache import run_damage
from dmlviz_app.batch_explorer import panel as batch_explorer
from dmlviz_app.explore import maps, sidebar, table, task, templates, toolbar
from dmlviz_app.run_views import curves_panel as curves
from dmlviz_app.run_views import view_state as explore
from dmlviz_app.run_views.progress_panel import progress_panel
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.markdown import escape_markdown

context, progress = sidebar.last_explored()
explore.publish(context.ui)  # before the map: the browser adds what is looked at to the address of this run

if progress is not None:
    task.panel(context, progress)

if progress is not None and not progress.shows_map:
    pass  # the map would give the answer away
elif context.run_view is None:
    st.caption("No runs yet. Press Train to start one.")
else:
    if progress is None or progress.is_revealed:
        toolbar.recording_notice(context.ui, context.services, context.run_view)
        toolbar.toolbar(context.ui, context.services, context.run_view)
    run = context.run_view.run
    damage = () if context.run_view.live else run_damage(run, context.services.runs.damage_cache)
    if damage:
        st.caption(f":orange[{escape_markdown(damage_summary(run, damage))}]")
    with navigation.top_bar_slot():
        progress_panel(context.ui, context.services, context.run_view)
    shows_scores = progress is None or progress.is_revealed or not progress.task.view_before_guess
    with error_boundary():
        follows = context.ui.curves is not None or table.lists_selection(run.id)
        maps.maps(context.ui, context.services, context.run_view, shows_scores=shows_scores, follows=follows)
    if shows_scores:
        table.table_panel(context)
        batch_explorer.batch_explorer(context.run_view)
        curves.curves(context)
        templates.templates_panel(context.run_view)

explore.publish(context.ui)
