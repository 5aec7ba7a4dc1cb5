"""Sprite sheets: many small images tiled into few large PNGs."""

import io
import math
from collections.abc import Iterable

import numpy as np
from PIL import Image

COLUMNS = 100
TILES_PER_SHEET = 10_000
MAX_SIDE = 64  # pixels of a tile: a sheet of 10,000 has 6,400 a side, which every browser can show
COMPRESSION = 6  # half a second for 10,000 tiles; 9 takes four seconds more for 3% less


def sheet_count(images: int) -> int:
    """Return the number of sheets for so many images."""
    return -(-images // TILES_PER_SHEET)


def tile_side(images: np.ndarray) -> int:
    """Return the side of the tiles of square images (n × s × s or n × s × s × 3) in pixels; larger ones are reduced."""
    return min(int(images.shape[1]), MAX_SIDE)


def encode_sheet(images: np.ndarray, number: int) -> bytes:
    """Encode sheet `number` of images (uint8, n × h × w or n × h × w × 3) as PNG; the last may be shorter."""
    return _encode_png(tile(small_images(images[number * TILES_PER_SHEET : (number + 1) * TILES_PER_SHEET])))


def small_images(images: np.ndarray) -> np.ndarray:
    """Return square images (uint8) as their tiles: with `tile_side` pixels a side, each the mean of those it covers."""
    side = tile_side(images)
    if images.shape[1] == side:
        return images
    small = np.empty((len(images), side, side, *images.shape[3:]), np.uint8)
    for number, image in enumerate(images):
        small[number] = Image.fromarray(image).resize((side, side), Image.Resampling.BOX)
    return small


def square_png(images: np.ndarray) -> bytes:
    """Encode all images as one PNG with as many rows as columns; the last tiles may be black."""
    side = columns_of_square(len(images))
    return _encode_png(tile(images, side, side))


def png_of(images: np.ndarray, columns: int) -> bytes:
    """Encode square images (uint8) as one PNG, row by row; large ones are reduced."""
    return _encode_png(tile(small_images(images), columns))


def columns_of_square(images: int) -> int:
    """Return the number of columns, and rows, of a square sheet for so many images."""
    return math.isqrt(max(images - 1, 0)) + 1


def tiles(pngs: Iterable[bytes], side: int) -> np.ndarray:
    """Split sheets into their square tiles.

    Args:
        pngs: Encoded sheets.
        side: Side of a tile in pixels.

    Returns:
        uint8, n × side × side or n × side × side × 3, including the black tiles at the end of the last sheet.
    """
    sheets = []
    for png in pngs:
        sheet = np.asarray(Image.open(io.BytesIO(png)))
        rows, columns = sheet.shape[0] // side, sheet.shape[1] // side
        grid = sheet.reshape(rows, side, columns, side, *sheet.shape[2:]).swapaxes(1, 2)
        sheets.append(grid.reshape(rows * columns, side, side, *sheet.shape[2:]))
    return np.concatenate(sheets)


def tile(images: np.ndarray, columns: int = COLUMNS, rows: int | None = None) -> np.ndarray:
    """Arrange images row by row.

    Args:
        images: uint8, n × h × w or n × h × w × 3.
        columns: Images per row.
        rows: Number of rows; as many as needed by default.

    Returns:
        uint8, rows·h × columns·w (× 3); black where no image is left.

    Examples:
        >>> tile(np.zeros((3, 8, 8), np.uint8), columns=2).shape
        (16, 16)
    """
    n, height, width = images.shape[:3]
    rows = rows or -(-n // columns)
    cells = np.zeros((rows * columns, *images.shape[1:]), np.uint8)
    cells[:n] = images
    grid = cells.reshape(rows, columns, *images.shape[1:]).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, *images.shape[3:])


def _encode_png(sheet: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG", compress_level=COMPRESSION)
    return file.getvalue()
