"""Hints on the quality of a picture that is to be kept: what a person may want to take again."""

import numpy as np

from dmlviz.data.frame import Frame, cut

BLURRED = 0.12  # of the longer side of what was cut out: edges that wide are lost in an image of 28 pixels


def picture_hints(picture: np.ndarray, frame: Frame | None, size: int) -> list[str]:
    """Return sentences on what was cut out of a picture: that it is small, that it is blurred.

    Args:
        picture: uint8, h × w or h × w × 3.
        frame: What was cut out; None for a picture that is taken as it is.
        size: Side of the net's images, in pixels.
    """
    if frame is None and picture.shape[:2] == (size, size):
        return []
    part = picture if frame is None else cut(picture, Frame(**{**vars(frame), **_wider(frame, picture.shape)}))
    gray = part.astype(np.float32).mean(axis=2) if part.ndim == 3 else part.astype(np.float32)
    height, width = (part.shape[0], part.shape[1]) if frame is None else _pixels(frame, picture.shape)
    hints = []
    if max(height, width) < size:
        hints.append(f"Too small: {width} × {height} pixels; come nearer.")
    elif (edge := _edge_width(gray) / max(1, max(height, width))) > BLURRED:
        hints.append(f"Blurred: its edges are {edge:.0%} of its size wide; hold the camera still.")
    return hints


def _pixels(frame: Frame, shape: tuple[int, ...]) -> tuple[int, int]:
    return max(1, round(frame.height * shape[0])), max(1, round(frame.width * shape[1]))


def _wider(frame: Frame, shape: tuple[int, ...]) -> dict[str, float]:
    """Return the size of a frame with its surroundings, where the edges of what it holds end."""
    margin = 0.3 * max(frame.height * shape[0], frame.width * shape[1])
    return {"width": frame.width + margin / shape[1], "height": frame.height + margin / shape[0]}


def _edge_width(gray: np.ndarray) -> float:
    """Return how many pixels the sharpest edges need to go from dark to light."""
    low, high = np.percentile(gray, (1, 99))
    steps = np.hypot(*np.gradient(gray)) if min(gray.shape) > 1 else np.zeros(1)
    return float((high - low) / max(1e-6, np.percentile(steps, 99.5)))
