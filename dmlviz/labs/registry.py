"""The labs by name, in the order of the page: each is `LAB` of the package of its name."""

from importlib import import_module

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

LABS: Catalog[Lab] = Catalog("lab", [import_module(f"dmlviz.labs.{name.replace('-', '_')}").LAB for name in ORDER])
