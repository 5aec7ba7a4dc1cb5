"""Finds the implementation of a projection. No torch: its module is imported when it is used."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection.registry import REFERENCE_REGISTRY, REGISTRY, TORCHDR_REGISTRY, Layout, Method, Request


class PluginMethod(Method):
    """Calls a plug-in's function with the embeddings and with those keywords that it takes.

    Beside its parameters these are `dims`, `seed`, `labels`, `start`, `begun`, and `report`: a function of the number
    of iterations done and the positions reached. It shows them, and raises CancelledError when it is to stop.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return what the function gives; raise UserError unless it is a finite position for every point."""
        config, frames = request.config, request.frames
        of = config.params.get("iterations", 1)
        frames.raise_if_stopped()

        def report(done: int, positions: Any) -> None:
            if frames.is_due():
                frames.report(done, of, None, np.asarray(positions, np.float32))
            frames.raise_if_stopped()

        offered = {"dims": config.dims, "seed": config.seed, "labels": request.labels, "report": report}
        offered |= {"start": request.start, "begun": request.begun}
        parameters = inspect.signature(self.function).parameters
        keywords = {name: value for name, value in offered.items() if name in parameters}
        coordinates = np.asarray(self.function(rows, **keywords, **config.params), np.float32)
        if coordinates.shape != (len(rows), config.dims) or not np.isfinite(coordinates).all():
            raise UserError(
                f"The projection {self.name} must give a finite position for each of {len(rows):,} points, in "
                f"{config.dims} dimensions; it gave an array of shape {coordinates.shape}: correct the plug-in."
            )
        return Layout(coordinates, iterations=of)


_REGISTRIES = {"dmlviz": REGISTRY, "reference": REFERENCE_REGISTRY, "torchdr": TORCHDR_REGISTRY}


def implementation(config: ProjectionConfig) -> Method:
    """Return the implementation of a config's method by its engine, and import its module if need be."""
    declared = config.declared
    if declared.module:
        import_module(declared.module)
    method: Any = _REGISTRIES[config.engine][config.method]
    return method() if isinstance(method, type) and issubclass(method, Method) else PluginMethod(config.method, method)
