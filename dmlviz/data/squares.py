"""Pictures of any size and kind as small squares: checked before they are decoded, then fitted in whole."""

import io
import warnings

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from dmlviz.errors import UserError

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")
MOST_PIXELS = 50_000_000
ALMOST_GREY = 6  # levels of 255 between the channels of a grey picture that was saved as JPEG


def shape_of(data: bytes) -> tuple[int, int]:
    """Width and height that a picture announces, without decoding it; raise UserError for what cannot be taken.

    The sentence is short: the reason why a file among many is left out.
    """
    with _open(data) as picture:
        return picture.size


def square(data: bytes, side: int) -> np.ndarray:
    """The picture as uint8 side × side × 3: turned upright, transparent parts on white, fitted whole, the rest of the
    square filled with the colour of its border. Of moving pictures the first. Raise UserError as `shape_of`.
    """
    with _open(data) as picture:
        try:
            decoded = upright(picture, side)
        except (OSError, SyntaxError, ValueError, EOFError, MemoryError):
            raise UserError("damaged or cut off") from None
    return fitted_in(decoded, side)


def upright(picture: Image.Image, side: int) -> np.ndarray:
    """An open picture decoded as uint8 h × w × 3 to be fitted into `side`: turned as its camera noted, on white.

    A JPEG is decoded at a fraction of its size where four times `side` is still there.
    """
    picture.draft("RGB", (4 * side, 4 * side))
    return np.asarray(_rgb(ImageOps.exif_transpose(picture)))


def fitted_in(picture: np.ndarray, side: int) -> np.ndarray:
    """A picture (uint8, h × w × 3) fitted whole into side × side × 3, the rest in the colour of its border."""
    longest = max(picture.shape[:2])
    height, width = (max(1, round(length * side / longest)) for length in picture.shape[:2])
    way = Image.Resampling.BOX if side < longest else Image.Resampling.BICUBIC
    same = (height, width) == picture.shape[:2]
    fitted = picture if same else np.asarray(Image.fromarray(picture).resize((width, height), way))
    canvas = np.empty((side, side, 3), np.uint8)
    canvas[:] = np.median(border(fitted), axis=0).astype(np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    canvas[top : top + height, left : left + width] = fitted
    return canvas


def is_grey(squares: np.ndarray) -> np.ndarray:
    """Which of the squares (n × s × s × 3) have no colour (n, bool)."""
    spread = squares.max(axis=3).astype(np.int16) - squares.min(axis=3)
    return (spread <= ALMOST_GREY).mean(axis=(1, 2)) > 0.995


def border(image: np.ndarray) -> np.ndarray:
    """The outermost pixels of an image (h × w or h × w × c)."""
    return np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])


def _open(data: bytes) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the size is checked below
            picture = Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError:
        raise UserError(_TOO_MANY) from None
    except UnidentifiedImageError:
        raise UserError(f"not a picture of the kinds {', '.join(FORMATS)}") from None
    except (OSError, SyntaxError, ValueError, EOFError):
        raise UserError("damaged or cut off") from None
    if picture.size[0] * picture.size[1] > MOST_PIXELS:
        picture.close()
        raise UserError(_TOO_MANY)
    return picture


_TOO_MANY = f"announces more than {MOST_PIXELS // 1_000_000} million pixels"


def _rgb(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith("I") or picture.mode == "F":  # more than 8 bits: Pillow's own conversion would clip them
        deep = np.asarray(picture, np.float64)
        low, high = float(deep.min()), float(deep.max())
        picture = Image.fromarray(((deep - low) / max(high - low, 1) * 255).astype(np.uint8))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return picture.convert("RGB")
