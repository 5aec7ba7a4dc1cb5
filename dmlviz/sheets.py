"""Sheets of tiles: many small pictures as few large ones, for the browser and for other tools."""

import io
import math
from collections.abc import Iterable

import numpy as np
from PIL import Image

COLUMNS = 100
PER_SHEET = 10_000
COMPRESSION = 6  # half a second for 10,000 tiles; 9 takes four more for 3 % less


def count(images: int) -> int:
    """How many sheets hold so many tiles."""
    return -(-images // PER_SHEET)


def png(images: np.ndarray, number: int) -> bytes:
    """Sheet `number` of images (uint8, n × h × w or n × h × w × 3) as PNG; the last of many may be shorter."""
    return _encoded(mosaic(images[number * PER_SHEET : (number + 1) * PER_SHEET]))


def square_png(images: np.ndarray) -> bytes:
    """All images on one PNG that has as many rows as columns, whether or not there are tiles for the last rows."""
    side = columns_of_square(len(images))
    return _encoded(mosaic(images, side, side))


def columns_of_square(images: int) -> int:
    """How many columns, and rows, a square sheet of so many tiles has."""
    return math.isqrt(max(images - 1, 0)) + 1


def tiles(pngs: Iterable[bytes], side: int) -> np.ndarray:
    """Cut sheets into their square tiles of so many pixels a side again: uint8, n × side × side (× 3).

    The last sheet may end with black tiles that are no picture.
    """
    cut = []
    for png in pngs:
        sheet = np.asarray(Image.open(io.BytesIO(png)))
        rows, columns = sheet.shape[0] // side, sheet.shape[1] // side
        grid = sheet.reshape(rows, side, columns, side, *sheet.shape[2:]).swapaxes(1, 2)
        cut.append(grid.reshape(rows * columns, side, side, *sheet.shape[2:]))
    return np.concatenate(cut)


def mosaic(images: np.ndarray, columns: int = COLUMNS, rows: int | None = None) -> np.ndarray:
    """Tiles side by side, row-major: uint8 rows·h × columns·w (× 3); where no tile is left it is black.

    There are as many rows as the tiles fill, unless `rows` asks for more.
    """
    n, height, width = images.shape[:3]
    rows = rows or -(-n // columns)
    padded = np.zeros((rows * columns, *images.shape[1:]), np.uint8)
    padded[:n] = images
    grid = padded.reshape(rows, columns, *images.shape[1:]).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, *images.shape[3:])


def _encoded(sheet: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG", compress_level=COMPRESSION)
    return file.getvalue()
