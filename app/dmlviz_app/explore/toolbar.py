"""Toolbar above the map: projection, export, recent runs; that another program records one now."""

from datetime import UTC, datetime

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.export import FORMATS, RunExport
from dmlviz.export.script import as_command, as_python
from dmlviz.export.weights import loading
from dmlviz.runs.run import Run
from dmlviz_app.explore import settings, starting_point
from dmlviz_app.explore.protocol import ExportFile, ExportProps, Script
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown
from dmlviz_app.widgets.url_state import note_event
from dmlviz_app.workbench import projection_picker
from dmlviz_app.workbench.current_view import RunView

RUNS_LISTED = 12
POPOVER = 320  # pixels
WIDTH = 440  # of the export panel, in pixels
SCRIPTS = {"python": as_python, "command": as_command}
NOT_READY_MESSAGE = "Files are available when training has finished."


def export_menu(run_view: RunView) -> None:
    """Render the popover; its content is built only when it is open."""
    menu = st.popover("Export", type="tertiary", key="export", on_change=note_event)
    if menu.open:
        with menu, st.container(width=WIDTH):
            mount("export", key="export-panel", data=export_panel(run_view))


def export_panel(run_view: RunView) -> ExportProps:
    """Props of the export panel: scripts as text, files as URLs."""
    is_finished = (
        run_view.projection is not None and not run_view.projection_live and run_view.projection.coordinates is not None
    )
    run_export = RunExport(run_view.run, run_view.projection if is_finished else None)
    # Embeddings of another program cannot be trained again by a script.
    writers = SCRIPTS if DATASETS[run_view.run.config.dataset].trainable else {}
    scripts = [Script(title=FORMATS[name].title, text=write(run_export)) for name, write in writers.items()]
    if not run_view.complete:
        note = NOT_READY_MESSAGE if run_view.live else str(run_view.run.lacks("files, which its end writes"))
        return {"scripts": scripts, "files": [], "figures": {}, "note": note}
    weights = (run_view.run.path / "weights.safetensors").exists()
    names = [name for name, format in FORMATS.items() if name not in SCRIPTS and (weights or not format.needs_net)]
    files = [_file_row(run_export, name) for name in names]
    figures = {"map": FIGURES["map"].title} | {name: figure.title for name, figure in FIGURES.items()}
    told = loading(run_export) if weights else ""
    return {"scripts": scripts, "files": files, "figures": figures, "note": "", "loading": told}


def _file_row(run_export: RunExport, format: str) -> ExportFile:
    view = f"?view={run_export.projection.id}" if run_export.projection is not None else ""
    return {
        "title": FORMATS[format].title,
        "summary": FORMATS[format].summary,
        "url": f"{ROUTES}/runs/{run_export.run.id}/export/{format}{view}",
        "name": run_export.file_name(format),
        "problem": run_export.problem(format),
    }


def toolbar(ui: UIState, services: Services, run_view: RunView) -> None:
    """Render projection picker, export menu and recent runs."""
    if ui.lesson is None:
        with st.container(key="closed-settings"), error_boundary("The notes"):
            settings.notes(ui, services, run_view, ".top")
            ui.messages.show("set", "start", "loss", "miner")  # what an address asked for in vain
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="header"):
        if ui.lesson is None:
            with error_boundary("The settings in a line"):
                settings.summary_line(ui, services, run_view)
        with error_boundary("The choice of a map"):
            projection_picker.projection_picker(ui, services, run_view)
        with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
            with error_boundary("The list of runs"):
                _runs(ui, services, run_view)
            with error_boundary("Use these settings"):
                _use_settings(ui, services, run_view)
            with error_boundary("Export"):
                export_menu(run_view)


def _use_settings(ui: UIState, services: Services, run_view: RunView) -> None:
    if starting_point.can_use(run_view.run):
        button(
            "Use these settings",
            key="use-settings",
            type="tertiary",
            help="Fills the form with the settings of the shown run.",
            on_click=starting_point.use,
            args=(ui, services, run_view.run.id),
        )


def recorded_run(services: Services) -> Run | None:
    """Return the newest run that another program trains now."""
    return next((run for run in services.runs.list() if run.recorded and run.state == "running"), None)


def recording_notice(ui: UIState, services: Services, run_view: RunView) -> None:
    """Say on the first page that another program trains a run, and show that by a click."""
    recording = recorded_run(services) if ui.run is None else None
    if recording is None or recording.id == run_view.run.id:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"Another program records **{escape_markdown(recording.title)}** now.", width="content")
        button("Show it", key="recording.show", on_click=ui.show, args=(recording.id,))


def _runs(ui: UIState, services: Services, run_view: RunView) -> None:
    menu = st.popover(
        f"Shown: {escape_markdown(run_view.run.title)}", type="tertiary", key="runs", on_change=note_event
    )
    if not menu.open:
        return
    with menu, st.container(key="runs-list", width=POPOVER):
        st.caption("Recent runs")
        for run in services.runs.list()[:RUNS_LISTED]:
            config = run.config
            score = run.score("precision_at_1")
            age = "ready-made" if services.runs.is_bundled(run) else _ago(run.created)
            facts = [DATASETS[config.dataset].title, f"{config.embedding_dim}-d", age]
            facts += [] if score is None else [f"P@1 {score:.3f}"]
            button(
                f"{escape_markdown(run.title)}  \n:small[{escape_markdown(' · '.join(facts))}]",
                key=f"open.{run.id}",
                type="tertiary",
                width="stretch",
                disabled=run.id == run_view.run.id,
                on_click=ui.show,
                args=(run.id,),
            )


def _ago(moment: datetime) -> str:
    minutes = (datetime.now(UTC) - moment).total_seconds() / 60
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes:.0f} min ago"
    return f"{minutes / 60:.0f} h ago" if minutes < 48 * 60 else f"{moment:%Y-%m-%d}"
