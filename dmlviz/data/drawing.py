"""A drawing from the pad of a page, as it is sent."""

from base64 import b64decode
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from dmlviz.errors import UserError

MAX_SIDE = 512  # pixels


class Drawing(TypedDict):
    """A drawing: side × side bytes of ink, base64."""

    side: int
    strokes: int
    ink: str


def decode_drawing(drawing: Any) -> np.ndarray | None:
    """Decode a gray image (uint8, side × side); None for an empty pad; raise UserError for anything malformed."""
    if drawing is None:
        return None
    try:
        side, pixels = int(drawing["side"]), np.frombuffer(b64decode(drawing["ink"], validate=True), np.uint8)
        if not 1 <= side <= MAX_SIDE:
            raise ValueError(side)
        return pixels.reshape(side, side)
    except (KeyError, TypeError, ValueError):
        raise UserError("The drawing did not arrive whole; draw again.") from None
