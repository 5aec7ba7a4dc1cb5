"""Maps of embeddings in two or three dimensions: drawn while they form, judged for what they keep, open to new points.

Importing this package loads neither torch nor SciPy; each name below loads what it needs on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.projections import PROJECTIONS

if TYPE_CHECKING:
    from dmlviz.projection.alignment import align
    from dmlviz.projection.layout import Projection, project
    from dmlviz.projection.out_of_sample import place_on
    from dmlviz.projection.quality import Faithfulness, faithfulness_of, near_on_map
    from dmlviz.projection.sequence import iterations_of, project_epochs
    from dmlviz.projection.validation import check, within

__all__ = [
    "PROJECTIONS",
    "Faithfulness",
    "Projection",
    "align",
    "check",
    "faithfulness_of",
    "iterations_of",
    "near_on_map",
    "place_on",
    "project",
    "project_epochs",
    "within",
]

_HOME = {
    "Faithfulness": "faithfulness",
    "Projection": "maps",
    "align": "alignment",
    "check": "limits",
    "faithfulness_of": "faithfulness",
    "iterations_of": "epochs",
    "near_on_map": "faithfulness",
    "place_on": "placing",
    "project": "maps",
    "project_epochs": "epochs",
    "within": "limits",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"dmlviz.projection.{_HOME[name]}"), name)
    raise AttributeError(f"module 'dmlviz.projection' has no attribute {name!r}")
