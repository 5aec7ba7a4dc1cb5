"""Decoding of images and letterboxing to squares, with limits checked before decoding."""

import io
import warnings

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from dmlviz.errors import UserError

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF")
READABLE = "PNG, JPEG, WebP, BMP, GIF, TIFF, HEIC or AVIF"
BLANK = 16  # of 255; what differs less is one color
MAX_PIXELS = 50_000_000
_STRIP = 32  # rows of a shrunk image that are made at a time
GRAY_TOLERANCE = 6  # maximum difference of the channels (0–255) of a gray image saved as JPEG


def read_size(data: bytes) -> tuple[int, int]:
    """Return width and height from an image's header, without decoding it.

    Raises:
        UserError: For an unsupported or damaged file, with a short reason for the import report.
    """
    with _open(data) as picture:
        return picture.size


def decode_square(data: bytes, side: int) -> np.ndarray:
    """Decode an image and letterbox it to a square.

    Args:
        data: The file's content; of an animation, the first frame is used.
        side: Side of the square in pixels.

    Returns:
        uint8, side × side × 3; rotated as its EXIF data ask for, transparent parts as `on_white` has them.

    Raises:
        UserError: As `read_size`.
    """
    with _open(data) as picture:
        try:
            rgb = upright(picture, side)
        except (OSError, SyntaxError, ValueError, EOFError, MemoryError, RuntimeError):
            raise UserError("damaged or cut off") from None
    return letterbox(rgb, side)


def upright(picture: Image.Image, side: int) -> np.ndarray:
    """Decode an open image as uint8 h × w × 3, rotated as its EXIF data ask for, transparent parts white.

    A JPEG may be decoded at a reduced size, but not below 4 × `side`.
    """
    picture.draft("RGB", (4 * side, 4 * side))
    return np.asarray(to_rgb(ImageOps.exif_transpose(shrink(picture, 4 * side))))


def formats_of(data: bytes) -> tuple[str, ...]:
    """Return the formats that Pillow tries for a file; the library for an iPhone's is loaded with the first of them.

    Raises:
        UserError: For a file of a format whose library is missing.
    """
    if data[4:8] != b"ftyp":
        return FORMATS
    Image.init()
    if data[8:12] in (b"avif", b"avis"):
        if "AVIF" not in Image.OPEN:
            raise UserError("AVIF files cannot be read here (Pillow 11.3 reads them): save it as JPEG.")
        return ("AVIF",)
    try:
        import pillow_heif
    except ImportError:
        raise UserError(
            "HEIC files cannot be read here (the package pillow-heif is missing): send a JPEG. An iPhone takes them "
            "with Settings > Camera > Formats > Most Compatible."
        ) from None
    pillow_heif.register_heif_opener(thumbnails=False)
    return ("HEIF",)


def shrink(picture: Image.Image, side: int) -> Image.Image:
    """Return an image of which the longer side has from `side` to 2 × `side` pixels, or itself if it is no larger.

    Each pixel is the mean of a square of pixels. It is made in strips: one more copy of a large image, which most ways
    to convert or scale it take, is more than a server should spend on a visitor's picture.
    """
    width, height = picture.size
    factor = max(width, height) // side
    if factor < 2:
        return picture
    strips = []
    for top in range(0, height, _STRIP * factor):
        strip = picture.crop((0, top, width, min(height, top + _STRIP * factor)))
        if strip.mode in ("P", "1") or (strip.mode in ("L", "RGB") and strip.has_transparency_data):
            strip = strip.convert("RGBA" if strip.has_transparency_data else "RGB")
        strips.append(_mean_of_blocks(strip, factor) if is_deep(strip) else strip.reduce(factor))
    small = Image.new(strips[0].mode, (strips[0].width, sum(strip.height for strip in strips)))
    top = 0
    for strip in strips:
        small.paste(strip, (0, top))
        top += strip.height
    small.info = {name: value for name, value in picture.info.items() if name != "transparency"}
    exif = picture.getexif()
    if exif:
        small.info["exif"] = exif.tobytes()
    return small


def is_deep(picture: Image.Image) -> bool:
    """Return whether an image has more than 8 bits per pixel and channel, which Pillow's conversions would clip."""
    return picture.mode.startswith("I") or picture.mode == "F"


def _mean_of_blocks(picture: Image.Image, factor: int) -> Image.Image:
    pixels = np.asarray(picture, np.float32)
    rows = np.add.reduceat(pixels, np.arange(0, len(pixels), factor), axis=0)
    sums = np.add.reduceat(rows, np.arange(0, pixels.shape[1], factor), axis=1)
    heights = np.diff([*range(0, len(pixels), factor), len(pixels)])
    widths = np.diff([*range(0, pixels.shape[1], factor), pixels.shape[1]])
    return Image.fromarray((sums / np.outer(heights, widths)).astype(np.float32))


def letterbox(picture: np.ndarray, side: int) -> np.ndarray:
    """Scale an image (uint8, h × w × 3) into a square (side × side × 3), padded with its border color."""
    longest = max(picture.shape[:2])
    height, width = (max(1, round(length * side / longest)) for length in picture.shape[:2])
    resampling = Image.Resampling.BOX if side < longest else Image.Resampling.BICUBIC
    same = (height, width) == picture.shape[:2]
    resized = picture if same else np.asarray(Image.fromarray(picture).resize((width, height), resampling))
    canvas = np.empty((side, side, 3), np.uint8)
    canvas[:] = np.median(border_pixels(resized), axis=0).astype(np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    canvas[top : top + height, left : left + width] = resized
    return canvas


def as_pixels(images: np.ndarray, name: str) -> np.ndarray:
    """Return images (n × h × w, × 1 or 3, or with these first as PyTorch has them) as bytes (n × h × w (× 3)).

    Raises:
        UserError: For images that are not numbers from 0 to 255, or from 0 to 1.
    """
    if images.ndim == 4 and images.shape[1] in (1, 3):
        images = np.moveaxis(images, 1, 3)
    images = images[..., 0] if images.shape[3:] == (1,) else images
    low, high = (float(images.min()), float(images.max())) if images.size else (0.0, 0.0)
    if not (low >= 0 and high <= 255):
        has = "NaN: remove it" if low != low else f"{low:g} to {high:g}: undo what normalizes them"
        raise UserError(f"Pixels are 0 to 255, or 0 to 1; {name} has {has}.")
    is_share = high <= 1  # of numbers with a fraction, or of black and white
    return np.rint(images * (255.0 if is_share else 1.0)).astype(np.uint8)


def is_gray(squares: np.ndarray) -> np.ndarray:
    """Return which images (n × s × s × 3) are gray (n, bool)."""
    spread = squares.max(axis=3).astype(np.int16) - squares.min(axis=3)
    return np.asarray((spread <= GRAY_TOLERANCE).mean(axis=(1, 2)) > 0.995)


def border_pixels(image: np.ndarray) -> np.ndarray:
    """Return the outermost pixels of an image (h × w or h × w × c)."""
    return np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])


def open_quietly(data: bytes) -> Image.Image:
    """Open an image of a format that is read; of a large one the caller sees the size before it is decoded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        return Image.open(io.BytesIO(data), formats=formats_of(data))


def _open(data: bytes) -> Image.Image:
    try:
        picture = open_quietly(data)
    except Image.DecompressionBombError:
        raise UserError(_TOO_MANY) from None
    except UnidentifiedImageError:
        raise UserError(f"not a {READABLE} file") from None
    except UserError:
        raise
    except (OSError, SyntaxError, ValueError, EOFError, RuntimeError):
        raise UserError("damaged or cut off") from None
    if picture.size[0] * picture.size[1] > MAX_PIXELS:
        picture.close()
        raise UserError(_TOO_MANY)
    return picture


_TOO_MANY = f"larger than {MAX_PIXELS // 1_000_000} million pixels"


def to_rgb(picture: Image.Image) -> Image.Image:
    """Convert an image of any mode to RGB, transparent parts on white."""
    if is_deep(picture):
        deep = np.asarray(picture, np.float64)
        low, high = float(deep.min()), float(deep.max())
        picture = Image.fromarray(((deep - low) / max(high - low, 1) * 255).astype(np.uint8))
    return on_white(picture).convert("RGB")


def on_white(picture: Image.Image) -> Image.Image:
    """Lay transparent parts on white; if nothing is seen there, as of white ink, what is opaque becomes black."""
    if not picture.has_transparency_data:
        return picture
    picture = picture.convert("RGBA")
    flat = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    alpha = picture.getchannel("A")
    return ImageOps.invert(alpha) if _is_blank(flat.convert("L")) and not _is_blank(alpha) else flat


def _is_blank(picture: Image.Image) -> bool:
    low, high = picture.getextrema()
    return bool(high - low < BLANK)  # type: ignore[operator]
