"""Titles and cautions of the projections."""

from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.catalog.reference_projections import REFERENCES

TAUGHT = "It was drawn with the classes: that they lie apart here says nothing about the embedding."


def projection_infos() -> dict[str, dict[str, str]]:
    """Collect title and caution of every projection, by name."""
    specs = [*PROJECTIONS.values(), *REFERENCES.values()]
    return {spec.name: {"title": spec.title, "caution": spec.caution} for spec in specs}
