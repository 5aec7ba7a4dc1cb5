"""Batch explorer and distance distribution, below the scores; loaded when opened."""

from dataclasses import replace

from app.state.current_view import RunView
from app.widgets import component_props
from app.widgets.components import mount


def batch_explorer(run_view: RunView) -> None:
    """Render two drawers that ask the server themselves."""
    data = component_props.run_source(replace(run_view, drawing=None))
    mount("batch_explorer", key="batch_explorer", data=data)
