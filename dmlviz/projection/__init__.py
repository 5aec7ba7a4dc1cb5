"""Projections of embeddings to 2-D or 3-D, their quality, and out-of-sample placement of new points.

Importing this package loads neither torch nor SciPy; each name below loads its module on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.projections import PROJECTIONS

if TYPE_CHECKING:
    from dmlviz.projection.alignment import align
    from dmlviz.projection.layout import Projection, project
    from dmlviz.projection.live import LiveProjection
    from dmlviz.projection.out_of_sample import place_on
    from dmlviz.projection.quality import ProjectionQuality, map_ranks, projection_quality
    from dmlviz.projection.validation import check, clamp_parameter, lowered

__all__ = [
    "PROJECTIONS",
    "LiveProjection",
    "Projection",
    "ProjectionQuality",
    "align",
    "check",
    "clamp_parameter",
    "lowered",
    "map_ranks",
    "place_on",
    "project",
    "projection_quality",
]

_MODULES = {
    "LiveProjection": "live",
    "ProjectionQuality": "quality",
    "Projection": "layout",
    "align": "alignment",
    "check": "validation",
    "projection_quality": "quality",
    "map_ranks": "quality",
    "place_on": "out_of_sample",
    "project": "layout",
    "clamp_parameter": "validation",
    "lowered": "validation",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"dmlviz.projection.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'dmlviz.projection' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
