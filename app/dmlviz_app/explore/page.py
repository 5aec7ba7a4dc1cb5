"""Explore page: set up, train, watch, query."""

from collections.abc import Callable

import streamlit as st

from dmlviz.runs.damage import damage_summary, run_damage
from dmlviz_app.batch_explorer import panel as batch_explorer
from dmlviz_app.explore import maps, settings, sidebar, table, task, toolbar
from dmlviz_app.explore.task import TaskProgress
from dmlviz_app.forms import view_state as explore
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import warn
from dmlviz_app.workbench import curves_panel as curves
from dmlviz_app.workbench.current_view import PageContext, RunView
from dmlviz_app.workbench.progress_panel import progress_panel


def page(context: PageContext, progress: TaskProgress | None) -> None:
    """Render the task of a lesson, and the run, unless its map would give the answer away."""
    if progress is not None:
        with error_boundary("The task"):
            task.panel(context, progress)
    if progress is not None and not progress.shows_map:
        return
    if context.run_view is None:
        settings.notes(context.ui, context.services, None, ".top")
        settings.summary_line(context.ui, context.services, None)
        if not maps.last_layout(context.ui):
            st.caption("No runs yet. Press Train to start one.")
        return
    _run(context, context.run_view, progress)


def _run(context: PageContext, run_view: RunView, progress: TaskProgress | None) -> None:
    ui, services = context.ui, context.services
    is_revealed = progress is None or progress.is_revealed
    shows_scores = is_revealed or not (progress is None or progress.task.view_before_guess or progress.held)
    if is_revealed:
        with error_boundary("The notice of a recording"):
            toolbar.recording_notice(ui, services, run_view)
        with error_boundary("The toolbar"):
            toolbar.toolbar(ui, services, run_view)
    with error_boundary("The check of the run's files"):
        damage = () if run_view.live else run_damage(run_view.run)
        if damage:
            warn(damage_summary(run_view.run, damage))
    with navigation.top_bar_slot(), error_boundary("The progress"):
        progress_panel(ui, services, run_view.awaited or run_view)
    with error_boundary("The workbench"):
        follows = ui.curves is not None or table.lists_selection(run_view.run.id)
        maps.maps(ui, services, run_view, shows_scores=shows_scores, follows=follows)
    if shows_scores:
        below: dict[str, Callable[[], None]] = {
            "The table": lambda: table.table_panel(context),
            "What the loss sees": lambda: batch_explorer.batch_explorer(run_view),
            "Curves": lambda: curves.curves(context),
        }
        for name, part in below.items():
            with error_boundary(name):
                part()


explored = sidebar.resolve()
if explored is not None:
    explore.publish(explored[0].ui)  # before the map: the browser adds what is looked at to the address of this run
    page(*explored)
