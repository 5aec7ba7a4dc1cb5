"""Below the scores: what the loss sees of a batch, and how far test images are apart. Closed until somebody looks."""

from dataclasses import replace

from app.state.current_view import RunView
from app.widgets import component_props
from app.widgets.components import mount


def lossview(shown: RunView) -> None:
    """Two drawers that ask the server themselves."""
    mount("lossview", key="lossview", data=component_props.run_source(replace(shown, drawing=None)))
