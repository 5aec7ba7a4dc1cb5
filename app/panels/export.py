"""Export menu of the current run: the script that reproduces it, and files to download."""

from typing import Any

import streamlit as st

from app.payloads.protocol.common import ROUTES
from app.runtime.url_state import note_event
from app.state.current_view import RunView
from app.widgets.components import mount
from dmlviz.catalog.datasets import DATASETS
from dmlviz.export import FORMATS, RunExport
from dmlviz.export.script import as_command, as_python
from dmlviz.export.weights import loading

WIDTH = 440  # pixels
SCRIPTS = {"python": as_python, "command": as_command}
NOT_READY_MESSAGE = "Files are available when training has finished."


def export_menu(run_view: RunView) -> None:
    """Render the popover; its content is built only when it is open."""
    menu = st.popover("Export", type="tertiary", key="export", on_change=note_event)
    if menu.open:
        with menu, st.container(width=WIDTH):
            mount("export", key="export-panel", data=export_panel(run_view))


def export_panel(run_view: RunView) -> dict[str, Any]:
    """Props of the export panel: scripts as text, files as URLs."""
    finished = run_view.drawing is not None and not run_view.drawing_live and run_view.drawing.coordinates is not None
    run_export = RunExport(run_view.run, run_view.drawing if finished else None)
    # What another program has embedded cannot be trained here again by a script.
    writers = SCRIPTS if DATASETS[run_view.run.config.dataset].trainable else {}
    scripts = [{"title": FORMATS[name].title, "text": write(run_export)} for name, write in writers.items()]
    panel: dict[str, Any] = {"scripts": scripts, "files": [], "note": ""}
    if not run_view.complete:
        return panel | {"note": NOT_READY_MESSAGE}
    weights = (run_view.run.path / "weights.safetensors").exists()
    offered = [name for name, format in FORMATS.items() if name not in SCRIPTS and (weights or not format.needs_net)]
    files = [_file_row(run_export, name) for name in offered]
    return panel | {"files": files, "loading": loading(run_export) if weights else ""}


def _file_row(run_export: RunExport, format: str) -> dict[str, str]:
    view = f"?view={run_export.drawing.id}" if run_export.drawing is not None else ""
    return {
        "title": FORMATS[format].title,
        "summary": FORMATS[format].summary,
        "url": f"{ROUTES}/runs/{run_export.run.id}/export/{format}{view}",
        "name": run_export.file_name(format),
    }
