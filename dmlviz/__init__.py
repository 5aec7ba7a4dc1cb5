"""Watch a metric being learned: deep metric learning on small images, live.

Importing `dmlviz`, its config, runs and jobs loads no torch; each name below loads on first use.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dmlviz.errors import UserError
from dmlviz.parts import DISPLAYS
from dmlviz.version import __version__

if TYPE_CHECKING:
    from dmlviz.cleaning.decisions import correct
    from dmlviz.cleaning.search import clean
    from dmlviz.config import ProjectionConfig, TrainConfig
    from dmlviz.nets.features import add_features
    from dmlviz.notebook import show
    from dmlviz.recording import record
    from dmlviz.runs.add_data import add_data
    from dmlviz.training.loop import train

__all__ = [
    "ProjectionConfig",
    "TrainConfig",
    "UserError",
    "__version__",
    "add_data",
    "add_features",
    "clean",
    "correct",
    "record",
    "show",
    "train",
]

_HOMES = {
    "ProjectionConfig": "dmlviz.config",
    "TrainConfig": "dmlviz.config",
    "add_data": "dmlviz.runs.add_data",
    "add_features": "dmlviz.nets.features",
    "clean": "dmlviz.cleaning.search",
    "correct": "dmlviz.cleaning.decisions",
    "record": "dmlviz.recording",
    "show": "dmlviz.notebook",
    "train": "dmlviz.training.loop",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dmlviz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *(name for name, value in globals().items() if isinstance(value, ModuleType))]


def _draw_figure(*arguments: Any) -> Any:
    from dmlviz.figures.drawing import draw_run

    return draw_run(*arguments)


def _show_map(*arguments: Any, **options: Any) -> Any:
    from dmlviz.notebook import show

    return show(*arguments, **options)


DISPLAYS.update(figure=_draw_figure, map=_show_map)
