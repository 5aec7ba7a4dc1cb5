"""Messages between server and page, as types: props of the components, answers of routes; not the events of a run.

frontend/protocol.mjs makes TypeScript of them. Names that cross are named here and nowhere else. The types are
typing_extensions' TypedDict: pydantic, which checks them in the tests, takes no other in Python 3.11.
"""

from importlib import import_module
from pkgutil import iter_modules

from dmlviz_app.feature import components

MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]

_TYPES = {name: value for module in MODULES for name, value in vars(module).items()}
PROPS: dict[str, type] = {name: _TYPES[f"{name.title().replace('_', '')}Props"] for name in components()}
"""The type of the props of each component, by its name: `run_list` has `RunListProps`."""
