"""The functions that display runs and trainings. Higher packages have them; `dmlviz/__init__.py` registers them."""

from collections.abc import Callable
from typing import Any

DISPLAYS: dict[str, Callable[..., Any]] = {}  # "figure": a figure of a run; "map": a map in a notebook
