"""Binds the implementation of a choice to its spec, by name."""

from collections.abc import Callable
from typing import Any, TypeVar

from dmlviz.catalog.parameters import Catalog

T = TypeVar("T", bound=Callable[..., Any])


class Registry(dict[str, Callable[..., Any]]):
    """Implementations by name, those of plug-ins included; a name must have a spec, and only one implementation."""

    def __init__(self, catalog: Catalog[Any]) -> None:
        super().__init__()
        self.catalog = catalog

    def __missing__(self, name: str) -> Callable[..., Any]:
        return self.catalog.plugged[name]

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate the function or class that the spec `name` describes."""

        def bind(code: T) -> T:
            if name not in self.catalog:
                raise ValueError(f"{code!r} implements {name!r}, which no {self.catalog.noun} declares")
            if name in self:
                raise ValueError(f"{name!r} is implemented twice: {self[name]!r} and {code!r}")
            self[name] = code
            return code

        return bind
