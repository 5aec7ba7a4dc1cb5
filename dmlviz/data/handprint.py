"""How a written figure becomes one of scikit-learn's digits, the way NIST's forms did.

Garris et al. 1994 (NISTIR 5469) set each figure upright by a shear and stretched it to 20 × 32 in a bitmap of 32 × 32;
Kaynak 1995 counted the ink in its blocks of 4 × 4. Grey stays grey all the way: a grey pixel is partly covered by ink,
and a count is such a share as well. Pens differ more than figures do: strokes thinner than the data's are thickened.
"""

import numpy as np
from PIL import Image, ImageFilter

WIDTH, HEIGHT, BLOCK = 20, 32, 4
NARROWEST = 8  # a one stays one
STEEPEST = 0.6  # no shear moves the top of a figure farther than this share of its height
THIN = 15.5  # blocks full of ink; 99 of 100 images of the data have more
INK = 18.0  # what a thinner figure is thickened to; the data have 19.6 on average
FULL = 0.9  # a line of pixels with that much ink of the most is inside the figure, not its edge


def upright(ink: np.ndarray) -> np.ndarray:
    """Shear a figure (h × w, 0 to 1) so that it leans neither way, and crop it.

    Two lines join the ends of its top row with those of its bottom row, one on the left, one on the right. The lean is
    that of the line that leans less; none where they lean to different sides. Images of the data have next to none.
    """
    ink = cropped(ink)
    height = len(ink)
    lean = float(np.clip(_lean(ink), -STEEPEST, STEEPEST))
    if not lean:
        return ink
    room = int(np.ceil(abs(lean) * height))
    wide = Image.fromarray(np.pad(ink, ((0, 0), (room, room))).astype(np.float32))
    matrix = (1, lean, -lean * height / 2, 0, 1, 0)
    return cropped(np.asarray(wide.transform(wide.size, Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)))


def _lean(ink: np.ndarray) -> float:
    """Pixels to the right for each pixel down."""
    height = len(ink)
    band = max(1, round(height / HEIGHT))
    top, bottom = edges(ink[:band].max(axis=0)), edges(ink[-band:].max(axis=0))
    left, right = ((below - above) / height for above, below in zip(top, bottom, strict=True))
    return min(left, right, key=abs) if left * right > 0 else 0.0


def edges(profile: np.ndarray) -> tuple[float, float]:
    """Where ink begins and ends along a line of pixels, a grey pixel before it being covered in part."""
    covered = profile / profile.max()
    full = np.flatnonzero(covered >= FULL)
    first, last = full[0], full[-1]
    return float(first - covered[:first].sum()), float(last + 1 + covered[last + 1 :].sum())


def cropped(ink: np.ndarray, faint: float = 0.12) -> np.ndarray:
    """The part of it where there is ink."""
    rows, columns = np.flatnonzero((ink > faint).any(axis=1)), np.flatnonzero((ink > faint).any(axis=0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def framed(ink: np.ndarray) -> np.ndarray:
    """Stretch a cropped figure into a frame of 32 × 32 (0 to 1), with strokes about as thick as the data's."""
    frame = _stretched(ink, 0)
    if counted(frame).sum() >= THIN:
        return frame
    for thicker in range(1, BLOCK + 1):
        frame = _stretched(ink, thicker)
        if counted(frame).sum() >= INK:
            break
    return frame


def counted(frame: np.ndarray) -> np.ndarray:
    """The share of ink in each of the 8 × 8 blocks."""
    side = HEIGHT // BLOCK
    return frame.reshape(side, BLOCK, side, BLOCK).mean(axis=(1, 3))


def _stretched(ink: np.ndarray, thicker: int) -> np.ndarray:
    """In the middle of the square, every stroke `thicker` pixels thicker on either side, nothing beyond the frame."""
    tall, _ = ink.shape
    height = HEIGHT - 2 * thicker
    left, right = edges(ink.max(axis=0))
    width = min(WIDTH - 2 * thicker, max(NARROWEST, (right - left) * HEIGHT / tall))
    scale = (right - left) / width  # pixels of the picture for one of the frame
    room = int(np.ceil(HEIGHT * scale))
    middle, reach = room + (left + right) / 2, HEIGHT / 2 * scale
    way = Image.Resampling.BOX if scale > 1 else Image.Resampling.BILINEAR
    padded = Image.fromarray(np.pad(ink, ((0, 0), (room, room))).astype(np.float32))
    figure = padded.resize((HEIGHT, height), way, box=(middle - reach, 0, middle + reach, tall))
    frame = np.zeros((HEIGHT, HEIGHT), np.uint8)
    frame[thicker : thicker + height] = np.rint(np.clip(np.asarray(figure), 0, 1) * 255)
    grown = Image.fromarray(frame)
    for _ in range(thicker):
        grown = grown.filter(ImageFilter.MaxFilter(3))
    return np.asarray(grown) / 255
