"""Finds the implementation of a projection. No torch: its module is imported when it is used."""

from importlib import import_module
from typing import Any

from dmlviz.config import ProjectionConfig
from dmlviz.projection.plugin_method import PluginMethod
from dmlviz.projection.registry import REFERENCE_REGISTRY, REGISTRY, TORCHDR_REGISTRY, Method

_REGISTRIES = {"dmlviz": REGISTRY, "reference": REFERENCE_REGISTRY, "torchdr": TORCHDR_REGISTRY}


def implementation(config: ProjectionConfig) -> Method:
    """Return the implementation of a config's method by its engine, and import its module if need be."""
    declared = config.declared
    if declared.module:
        import_module(declared.module)
    method: Any = _REGISTRIES[config.engine][config.method]
    return method() if isinstance(method, type) and issubclass(method, Method) else PluginMethod(config.method, method)
