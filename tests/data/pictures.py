"""Pictures to ask with."""

import io

import numpy as np
from PIL import Image


def file_of(picture: np.ndarray | Image.Image, format: str = "PNG", **options) -> bytes:
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def stroke(height: int = 90, width: int = 60) -> np.ndarray:
    """A bright slanted bar on a dark ground, off center."""
    picture = np.zeros((height, width), np.uint8)
    for row in range(10, 50):
        picture[row, 5 + row // 4 : 12 + row // 4] = 255
    return picture
