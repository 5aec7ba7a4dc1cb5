"""How a written figure becomes one of scikit-learn's digits, the way NIST's forms did.

Garris et al. 1994 (NISTIR 5469) set each figure upright by a shear and stretched it to 20 × 32 in a bitmap of 32 × 32;
Kaynak 1995 counted the ink in its blocks of 4 × 4. Pens differ more than figures do: strokes thinner than the data's
are thickened.
"""

import numpy as np
from PIL import Image, ImageFilter

WIDTH, HEIGHT, BLOCK = 20, 32, 4
NARROWEST = 8  # a one stays one
STEEPEST = 0.6  # no shear moves the top of a figure farther than this share of its height
INK = 18.0  # blocks full of ink; the data have 19.6 on average


def upright(ink: np.ndarray) -> np.ndarray:
    """Shear a figure (h × w, 0 to 1) so that it leans neither way, and crop it."""
    height, width = ink.shape
    y, x = np.mgrid[0:height, 0:width]
    mass = ink.sum()
    centre_y, centre_x = (ink * y).sum() / mass, (ink * x).sum() / mass
    spread = (ink * (y - centre_y) ** 2).sum()
    lean = (ink * (y - centre_y) * (x - centre_x)).sum() / spread if spread else 0.0
    lean = float(np.clip(lean, -STEEPEST, STEEPEST))
    room = int(np.ceil(abs(lean) * height))
    wide = Image.fromarray(np.pad(ink, ((0, 0), (room, room))).astype(np.float32))
    sheared = wide.transform(
        wide.size, Image.Transform.AFFINE, (1, lean, -lean * centre_y, 0, 1, 0), Image.Resampling.BILINEAR
    )
    return cropped(np.asarray(sheared))


def cropped(ink: np.ndarray, faint: float = 0.12) -> np.ndarray:
    """The part of it where there is ink."""
    rows, columns = np.flatnonzero((ink > faint).any(axis=1)), np.flatnonzero((ink > faint).any(axis=0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def bitmap(ink: np.ndarray) -> np.ndarray:
    """Stretch a cropped figure into a bitmap of 32 × 32 (0 and 1), with strokes about as thick as the data's."""
    for thicker in range(BLOCK + 1):
        drawn = _stretched(ink, thicker)
        if counted(drawn).sum() >= INK:
            break
    return drawn


def counted(bitmap: np.ndarray) -> np.ndarray:
    """The share of ink in each of the 8 × 8 blocks."""
    side = HEIGHT // BLOCK
    return bitmap.reshape(side, BLOCK, side, BLOCK).mean(axis=(1, 3))


def _stretched(ink: np.ndarray, thicker: int) -> np.ndarray:
    """In the middle of the square, every stroke `thicker` pixels thicker on either side, nothing beyond the frame."""
    tall, natural = ink.shape
    height = HEIGHT - 2 * thicker
    width = min(WIDTH - 2 * thicker, max(NARROWEST, round(natural * HEIGHT / tall)))
    way = Image.Resampling.BOX if natural > width else Image.Resampling.BILINEAR
    figure = np.asarray(Image.fromarray(ink.astype(np.float32)).resize((width, height), way)) > 0.5
    square = np.zeros((HEIGHT, HEIGHT), np.uint8)
    left = (HEIGHT - width) // 2
    square[thicker : thicker + height, left : left + width] = figure
    grown = Image.fromarray(square)
    for _ in range(thicker):
        grown = grown.filter(ImageFilter.MaxFilter(3))
    return np.asarray(grown).astype(np.float64)
