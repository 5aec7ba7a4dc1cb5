"""The functions by which runs and trainings show themselves. They are above both; `dmlviz/__init__.py` enters them."""

from collections.abc import Callable
from typing import Any

DISPLAYS: dict[str, Callable[..., Any]] = {}  # "figure": a figure of a run; "map": a map in a notebook
