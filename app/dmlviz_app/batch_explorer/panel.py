"""Batch explorer and distance distribution, below the scores; loaded when opened."""

from dataclasses import replace

from dmlviz.catalog.datasets import DATASETS
from dmlviz_app.batch_explorer.protocol import BatchExplorerProps
from dmlviz_app.widgets.components import mount
from dmlviz_app.workbench import component_props
from dmlviz_app.workbench.current_view import RunView


def batch_explorer(run_view: RunView) -> None:
    """Render two drawers, which fetch their data themselves; of vectors without a training only that of distances."""
    nouns = component_props.noun_props(run_view)
    if "given" in nouns and len(DATASETS[run_view.run.config.dataset].classes) < 2:
        return  # no pairs of two classes
    data = BatchExplorerProps(**component_props.run_source(replace(run_view, projection=None)), **nouns)
    data["has_net"] = run_view.complete and (run_view.run.path / "weights.safetensors").exists()
    mount("batch_explorer", key="batch_explorer", data=data)
