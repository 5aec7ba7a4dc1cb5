"""Export menu of the current run: the script that reproduces it, and files to download."""

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.figures import FIGURES
from dmlviz.export import FORMATS, RunExport
from dmlviz.export.script import as_command, as_python
from dmlviz.export.weights import loading
from dmlviz_app.explore.protocol import ExportFile, ExportProps, Script
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.url_state import note_event
from dmlviz_app.workbench.current_view import RunView

WIDTH = 440  # pixels
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
