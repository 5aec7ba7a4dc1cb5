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
    "Faithfulness": "quality",
    "Projection": "layout",
    "align": "alignment",
    "check": "validation",
    "faithfulness_of": "quality",
    "iterations_of": "sequence",
    "near_on_map": "quality",
    "place_on": "out_of_sample",
    "project": "layout",
    "project_epochs": "sequence",
    "within": "validation",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"dmlviz.projection.{_HOME[name]}"), name)
    raise AttributeError(f"module 'dmlviz.projection' has no attribute {name!r}")
