"""The labs by name, in the order of the page."""

from importlib import import_module
from importlib.util import find_spec

from dmlviz.catalog.parameters import Catalog
from dmlviz.labs.lab import Lab

ORDER = (
    "classical-or-mined",
    "verification",
    "reid",
    "gallery",
    "few-shot",
    "reality-check",
    "margins",
    "recall",
    "patches",
    "tracking",
    "two-domains",
    "metric",
    "terrapattern",
    "scale",
)


def _specs() -> list[Lab]:
    """Return the labs, each of which is `LAB` of `spec` in the package of its name."""
    modules = [f"dmlviz.labs.{name.replace('-', '_')}.spec" for name in ORDER]
    return [import_module(module).LAB for module in modules if find_spec(module) is not None]


LABS: Catalog[Lab] = Catalog("lab", _specs())
