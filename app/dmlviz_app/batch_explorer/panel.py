"""Batch explorer and distance distribution, below the scores; loaded when opened."""

from dataclasses import replace

from dmlviz_app.run_views import component_props
from dmlviz_app.run_views.current_view import RunView
from dmlviz_app.widgets.components import mount


def batch_explorer(run_view: RunView) -> None:
    """Render two drawers, which fetch their data themselves; vectors without a training have nothing to show there."""
    if not run_view.live and not run_view.run.steps:
        return
    data = component_props.run_source(replace(run_view, projection=None))
    mount("batch_explorer", key="batch_explorer", data=data)
