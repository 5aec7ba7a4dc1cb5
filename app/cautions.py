"""What may not be read from a picture, for the page."""

from dmlviz.projection.declared import PROJECTIONS
from dmlviz.projection.declared_reference import REFERENCES

TAUGHT = "It was drawn with the classes: that they lie apart here says nothing about the embedding."


def methods() -> dict[str, dict[str, str]]:
    """Title and caution of every projection, by name."""
    known = [*PROJECTIONS.values(), *REFERENCES.values()]
    return {one.name: {"title": one.title, "caution": one.caution} for one in known}
