"""A rotated rectangle in a picture, the crop of it, and hints on what was cut out."""

from dataclasses import dataclass

import cv2
import numpy as np


@dataclass(frozen=True)
class Frame:
    """A rotated rectangle in a picture: center, size (shares of its width and height, 0–1), angle (°, clockwise)."""

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0


def around(top: int, left: int, bottom: int, right: int, shape: tuple[int, ...]) -> Frame:
    """Return the upright frame of rows `top` to `bottom` and columns `left` to `right` (exclusive) of a shape."""
    height, width = shape[:2]
    return Frame(
        (left + right) / 2 / width, (top + bottom) / 2 / height, (right - left) / width, (bottom - top) / height
    )


def cut(picture: np.ndarray, frame: Frame, outside: int | None = None) -> np.ndarray:
    """Return what lies in a frame, turned upright, at the picture's resolution.

    Args:
        picture: uint8 or float32, h × w or h × w × 3.
        frame: Position; the part beyond the picture is filled.
        outside: The value to fill with; None continues the pixels of the picture's edge.
    """
    height, width = picture.shape[:2]
    size = max(1, round(frame.width * width)), max(1, round(frame.height * height))
    turn = np.deg2rad(frame.angle)
    across, down = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    corner = np.array([frame.x * width, frame.y * height]) - 0.5  # pixel centers have whole coordinates
    corner = corner - across * (size[0] - 1) / 2 - down * (size[1] - 1) / 2
    matrix = np.stack([across, down, corner], axis=1)
    mode = cv2.BORDER_REPLICATE if outside is None else cv2.BORDER_CONSTANT
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpAffine(picture, matrix, size, flags=flags, borderMode=mode, borderValue=outside or 0))


def cover(frame: Frame, shape: tuple[int, ...]) -> np.ndarray:
    """Return which pixels of a picture of a shape lie in a frame (h × w, bool)."""
    height, width = shape[:2]
    box = (frame.x * width, frame.y * height), (frame.width * width, frame.height * height), frame.angle
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [np.rint(cv2.boxPoints(box)).astype(np.int32)], 1)
    return np.asarray(mask > 0)


def around_mask(mask: np.ndarray) -> Frame:
    """Return the upright frame of what is not 0 (h × w)."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return around(int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1, mask.shape)


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
