"""Export menu of the current run: the script that reproduces it, and files to download."""

from typing import Any

import streamlit as st

from app.payloads.protocol import ROUTES
from app.state.current_view import RunView
from app.widgets.components import mount
from dmlviz.catalog.datasets import DATASETS
from dmlviz.export import FORMATS, RunExport
from dmlviz.export.script import as_command, as_python
from dmlviz.export.weights import loading

WIDTH = 440  # pixels
SCRIPTS = {"python": as_python, "command": as_command}
NOT_READY_MESSAGE = "Files are available when training has finished."


def export_menu(shown: RunView) -> None:
    """Render the popover; its content is built only when it is open."""
    menu = st.popover("Export", type="tertiary", key="export", on_change="rerun")
    if menu.open:
        with menu, st.container(width=WIDTH):
            mount("export", key="export-panel", data=export_panel(shown))


def export_panel(shown: RunView) -> dict[str, Any]:
    """Props of the export panel: scripts as text, files as URLs."""
    finished = shown.drawing is not None and not shown.drawing_live and shown.drawing.coordinates is not None
    kept = RunExport(shown.run, shown.drawing if finished else None)
    given = DATASETS[shown.run.config.dataset].size == 0  # nothing was trained that could be trained again
    made = {} if given else SCRIPTS
    scripts = [{"title": FORMATS[name].title, "text": write(kept)} for name, write in made.items()]
    about: dict[str, Any] = {"scripts": scripts, "files": [], "note": ""}
    if not shown.complete:
        return about | {"note": NOT_READY_MESSAGE}
    weights = (shown.run.path / "weights.safetensors").exists()
    files = [_file_row(kept, name) for name in FORMATS if name not in SCRIPTS and (name != "weights" or weights)]
    return about | {"files": files, "loading": loading(kept) if weights else ""}


def _file_row(kept: RunExport, format: str) -> dict[str, str]:
    view = f"?view={kept.drawing.id}" if kept.drawing is not None else ""
    return {
        "title": FORMATS[format].title,
        "summary": FORMATS[format].summary,
        "url": f"{ROUTES}/runs/{kept.run.id}/export/{format}{view}",
        "name": kept.file_name(format),
    }
