"""What may not be read from a picture, for the page."""

from dmlviz.projection.declared import PROJECTIONS


def methods() -> dict[str, dict[str, str]]:
    """Title and caution of every projection, by name."""
    return {name: {"title": one.title, "caution": one.caution} for name, one in PROJECTIONS.items()}
