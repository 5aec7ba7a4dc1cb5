"""Plotly figures of a run or of arrays, for notebooks, files and the page.

Every function takes a run (`Runs().find(title)`), or embeddings (n × d) with class IDs (n). Plotly is imported with
the first function used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dmlviz.figures.maps import map
    from dmlviz.figures.pairs import distance_histogram, precision_recall, roc
    from dmlviz.figures.retrieval import confusion_matrix, recall_at_k, scores_by_dimension
    from dmlviz.figures.training import training_curves

__all__ = [
    "confusion_matrix",
    "distance_histogram",
    "map",
    "precision_recall",
    "recall_at_k",
    "roc",
    "scores_by_dimension",
    "training_curves",
]

_MODULES = {
    "confusion_matrix": "retrieval",
    "distance_histogram": "pairs",
    "map": "maps",
    "precision_recall": "pairs",
    "recall_at_k": "retrieval",
    "roc": "pairs",
    "scores_by_dimension": "retrieval",
    "training_curves": "training",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"dmlviz.figures.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'dmlviz.figures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
