"""Below the scores: what the loss sees of a batch, and how far test images are apart. Closed until somebody looks."""

from dataclasses import replace

from app import feed
from app.components import mount
from app.shown import Shown


def lossview(shown: Shown, routes: bool) -> None:
    """Two drawers that ask the server themselves; a host that passes no routes has no answers, so none are shown."""
    if routes:
        mount("lossview", key="lossview", data=feed.source(replace(shown, drawing=None), routes))
