"""NIST preprocessing of a drawn digit, as for scikit-learn's digits: deskew, stretch, 8 × 8 block counts.

Garris et al. 1994 (NISTIR 5469) deskewed each digit by a shear and stretched it to 20 × 32 in a bitmap of 32 × 32;
Kaynak 1995 counted the ink in blocks of 4 × 4. Here all steps work on gray levels: a gray pixel is partly covered by
ink, and a count is a share of ink as well. Strokes thinner than those of the data set are thickened.
"""

import numpy as np
from PIL import Image, ImageFilter

WIDTH, HEIGHT, BLOCK = 20, 32, 4
MIN_WIDTH = 8  # so that a one is not stretched to a block
MAX_SHEAR = 0.6  # largest shift of a digit's top, relative to its height
THIN = 15.5  # blocks full of ink; 99 of 100 images of the data set have more
TARGET_INK = 18.0  # ink of a thickened digit; the data set has 19.6 on average
FULL = 0.9  # a pixel line with this share of the maximum ink is inside the digit, not its edge


def deskew(ink: np.ndarray) -> np.ndarray:
    """Shear a digit (h × w, 0 to 1) upright, and crop it.

    Two lines join the ends of its top row with those of its bottom row. The slant is that of the less slanted line, or
    0 if they slant to different sides. Images of the data set have almost none.
    """
    ink = crop(ink)
    height = len(ink)
    slant = float(np.clip(_slant(ink), -MAX_SHEAR, MAX_SHEAR))
    if not slant:
        return ink
    padding = int(np.ceil(abs(slant) * height))
    wide = Image.fromarray(np.pad(ink, ((0, 0), (padding, padding))).astype(np.float32))
    matrix = (1, slant, -slant * height / 2, 0, 1, 0)
    return crop(np.asarray(wide.transform(wide.size, Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)))


def _slant(ink: np.ndarray) -> float:
    """Return the slant: pixels to the right per pixel down."""
    height = len(ink)
    band = max(1, round(height / HEIGHT))
    top, bottom = edges(ink[:band].max(axis=0)), edges(ink[-band:].max(axis=0))
    left, right = ((below - above) / height for above, below in zip(top, bottom, strict=True))
    return min(left, right, key=abs) if left * right > 0 else 0.0


def edges(profile: np.ndarray) -> tuple[float, float]:
    """Return where ink begins and ends along a line of pixels; gray pixels count in part."""
    coverage = profile / profile.max()
    full = np.flatnonzero(coverage >= FULL)
    first, last = full[0], full[-1]
    return float(first - coverage[:first].sum()), float(last + 1 + coverage[last + 1 :].sum())


def crop(ink: np.ndarray, faint: float = 0.12) -> np.ndarray:
    """Return the bounding box of the ink."""
    rows, columns = np.flatnonzero((ink > faint).any(axis=1)), np.flatnonzero((ink > faint).any(axis=0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def frame_digit(ink: np.ndarray) -> np.ndarray:
    """Stretch a cropped digit into 32 × 32 (0 to 1), with strokes about as thick as in the data set."""
    frame = _stretch(ink, 0)
    if block_counts(frame).sum() >= THIN:
        return frame
    for thickness in range(1, BLOCK + 1):
        frame = _stretch(ink, thickness)
        if block_counts(frame).sum() >= TARGET_INK:
            break
    return frame


def block_counts(frame: np.ndarray) -> np.ndarray:
    """Return the share of ink in each of the 8 × 8 blocks."""
    side = HEIGHT // BLOCK
    return np.asarray(frame.reshape(side, BLOCK, side, BLOCK).mean(axis=(1, 3)))


def _stretch(ink: np.ndarray, thickness: int) -> np.ndarray:
    """Stretch and center the digit, with strokes `thicker` pixels thicker on either side, inside the frame."""
    tall, _ = ink.shape
    height = HEIGHT - 2 * thickness
    left, right = edges(ink.max(axis=0))
    width = min(WIDTH - 2 * thickness, max(MIN_WIDTH, (right - left) * HEIGHT / tall))
    scale = (right - left) / width  # pixels of the picture for one of the frame
    padding = int(np.ceil(HEIGHT * scale))
    middle, half_width = padding + (left + right) / 2, HEIGHT / 2 * scale
    resampling = Image.Resampling.BOX if scale > 1 else Image.Resampling.BILINEAR
    wide = Image.fromarray(np.pad(ink, ((0, 0), (padding, padding))).astype(np.float32))
    figure = wide.resize((HEIGHT, height), resampling, box=(middle - half_width, 0, middle + half_width, tall))
    frame = np.zeros((HEIGHT, HEIGHT), np.uint8)
    frame[thickness : thickness + height] = np.rint(np.clip(np.asarray(figure), 0, 1) * 255)
    strokes = Image.fromarray(frame)
    for _ in range(thickness):
        strokes = strokes.filter(ImageFilter.MaxFilter(3))
    return np.asarray(strokes) / 255
