"""Binds the code of a choice to its declaration by name."""

from collections.abc import Callable
from typing import Any, TypeVar

from dmlviz.catalog.parameters import Catalog

T = TypeVar("T", bound=Callable[..., Any])


class Registry(dict[str, Callable[..., Any]]):
    """Code by name; a name must be declared, and only once."""

    def __init__(self, catalog: Catalog[Any]) -> None:
        super().__init__()
        self.catalog = catalog

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate the function or class that the declaration `name` describes."""

        def bind(code: T) -> T:
            if name not in self.catalog:
                raise ValueError(f"{code!r} implements {name!r}, which no {self.catalog.noun} declares")
            if name in self:
                raise ValueError(f"{name!r} is implemented twice: {self[name]!r} and {code!r}")
            self[name] = code
            return code

        return bind
