"""Preparation of a query image (drawing, upload, photograph) in the way the data set was made.

The steps follow LeCun et al. 1998 (MNIST) and Xiao et al. 2017 (Fashion-MNIST); each is recorded for display.
"""

import io
import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from dmlviz.catalog.custom_datasets import is_custom
from dmlviz.catalog.dataset_spec import DatasetSpec, Framing
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import digit_image
from dmlviz.data.image_ops import is_deep, letterbox, shrink, upright
from dmlviz.data.import_report import to_grayscale
from dmlviz.errors import UserError

MAX_BYTES = 2 * 1024 * 1024
MAX_SIDE = 4096
MAX_WORKING_SIDE = 512  # more pixels do not improve an image of 28 × 28
TOO_LARGE = f"A picture has up to {MAX_SIDE} × {MAX_SIDE} pixels"
FORMATS = ("PNG", "JPEG", "WEBP")
BLANK = 16  # of 255; what differs less is one color
INK_THRESHOLD = 0.12  # ink below this share of the darkest stroke is paper
TRIM = 0.05  # of the full range; smaller differences from the background were trimmed in Fashion-MNIST


@dataclass(frozen=True)
class PreparationStep:
    """An intermediate image (uint8, h × w or h × w × 3), and a caption for the step that made it."""

    caption: str
    image: np.ndarray


@dataclass(frozen=True)
class PreparedImage:
    """A net's input before normalization (uint8, size × size or size × size × 3), with the steps that end with it."""

    image: np.ndarray
    steps: tuple[PreparationStep, ...]


def decode(data: bytes, dataset: str) -> np.ndarray:
    """Decode a PNG, JPEG or WebP query image, transparent parts on white.

    The size in the header is checked before any pixel is decoded, since 80 kB can announce 160 MB.

    Args:
        data: The file's content.
        dataset: Name of the data set to query.

    Returns:
        uint8: gray, h × w; h × w × 3 for a data set in color, and for a custom one, decoded as its own images were.

    Raises:
        UserError: For another format, a damaged file, or an image that is too large.
    """
    spec = _spec_with_images(dataset)
    if len(data) > MAX_BYTES:
        raise UserError(f"A picture has up to 2 MB; got {len(data) / 1024**2:.1f} MB: send a smaller one.")
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
            if max(width, height) > MAX_SIDE:
                raise UserError(f"{TOO_LARGE}; got {width} × {height}: send a smaller one.")
            if is_custom(dataset) or spec.channels == 3:
                return upright(picture, spec.size)
            picture.draft("RGB", (MAX_WORKING_SIDE, MAX_WORKING_SIDE))
            small = shrink(picture, 2 * MAX_WORKING_SIDE)
            return np.asarray(_flatten_modes(ImageOps.exif_transpose(small)).convert("L"))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UserError(f"{TOO_LARGE}; this one has far more: send a smaller one.") from None
    except UnidentifiedImageError:
        raise UserError("A picture is a PNG, JPEG or WebP file; this file is none of them: save it as one.") from None
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError("The picture could not be read: the file is damaged or cut off. Save it again.") from None


def _spec_with_images(dataset: str) -> DatasetSpec:
    spec = DATASETS[dataset]
    if not spec.trainable:
        raise UserError(
            f"A picture is placed by a net; {spec.title} holds embeddings without one: choose a run that was "
            "trained here."
        )
    return spec


def _flatten_modes(picture: Image.Image) -> Image.Image:
    if is_deep(picture):
        deep = np.asarray(picture, dtype=np.float64)
        picture = Image.fromarray((deep / max(deep.max(), 1) * 255).astype(np.uint8))
    picture.thumbnail((MAX_WORKING_SIDE, MAX_WORKING_SIDE))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return picture


def prepare(picture: np.ndarray, dataset: str) -> PreparedImage:
    """Crop, scale and center an image as the images of a data set are.

    An image that could be one of them is taken as it is: of exactly their size, on their background. So a test image
    lands on itself. For a custom data set, a color image (h × w × 3) is letterboxed like its images, which leaves one
    of their size as it is; a gray one counts as a drawing.

    Args:
        picture: uint8, h × w or h × w × 3.
        dataset: Name of the data set.

    Raises:
        UserError: For a blank image, or another shape or type.
    """
    spec = _spec_with_images(dataset)
    picture = np.asarray(picture)
    if picture.ndim == 3 and picture.shape[2] == 3 and spec.framing is None and picture.dtype == np.uint8:
        return _letterbox(picture, spec)
    if spec.channels == 3:
        raise UserError(f"A drawing is gray; {spec.title} is in color: upload a picture instead.")
    framing = spec.framing or Framing(box=round(0.8 * spec.size))
    if picture.ndim != 2 or picture.dtype != np.uint8 or not picture.size:
        raise UserError(f"A picture is a gray uint8 array h × w; got {picture.dtype} of shape {picture.shape}.")
    steps = [PreparationStep("gray", picture)]

    ink = picture.astype(np.float64)
    background = float(np.median(_border(ink)))
    if background > 127:
        ink, background = 255 - ink, 255 - background
        steps.append(PreparationStep("inverted", _as_bytes(ink)))
    if _in_form(picture, background, inverted=len(steps) > 1, spec=spec):
        return PreparedImage(image=picture, steps=(PreparationStep(f"{spec.size} × {spec.size}: as it is", picture),))
    ink = np.clip(ink - background, 0, None)
    peak = float(np.percentile(ink[ink > 0], 99)) if (ink > 0).any() else 0.0
    if peak < BLANK:
        raise UserError("The picture is blank: nothing stands out from its background. Draw or choose something else.")
    ink = np.clip(ink / (255 - background if framing.photographs else peak), 0, 1)
    ink[ink < (TRIM if framing.photographs else INK_THRESHOLD)] = 0
    ink = digit_image.crop(ink, 0)
    steps.append(PreparationStep("cropped", _as_bytes(ink * 255)))
    if framing.block_counts:
        return _prepare_digit(ink, steps)

    ink = _scale(ink, framing.box)
    if not framing.photographs:
        ink = np.clip(ink / max(float(ink.max()), 1e-6), 0, 1)
    steps.append(PreparationStep(f"scaled to {framing.box} × {framing.box}", _as_bytes(ink * 255)))
    ink = _center(ink, spec.size, framing.by_mass)
    method = "mass" if framing.by_mass else "outline"
    image = _as_bytes(ink * 255)
    steps.append(PreparationStep(f"centered by {method}", image))
    if spec.dark_on_light:
        image = 255 - image
        steps.append(PreparationStep("dark on light", image))
    return PreparedImage(image=image, steps=tuple(steps))


def describe_preparation(dataset: str) -> str:
    """Say what `prepare` does to an uploaded picture for this data set."""
    spec = DATASETS[dataset]
    square = f"{spec.size} × {spec.size}"
    if is_custom(dataset) or spec.channels == 3:
        gray = "" if spec.channels == 3 else " All become gray."
        return f"A picture of {square} pixels is taken as it is; others are fitted, on the color of their border.{gray}"
    framing = spec.framing or Framing(box=round(0.8 * spec.size))
    if framing.block_counts:
        scaled = f"made upright, stretched to 32 × 32 and counted in blocks to {square}"
    else:
        scaled = f"scaled to {framing.box} × {framing.box} and centered"
    light, dark = ("dark", "light") if spec.dark_on_light else ("light", "dark")
    return (
        f"A gray picture of exactly {square} pixels on a {dark} ground, as the test images are, is taken as it is. Any "
        f"other is made gray, {light} on {dark}, cropped to what stands out from its background, {scaled}."
    )


def _in_form(picture: np.ndarray, background: float, inverted: bool, spec: DatasetSpec) -> bool:
    """Whether a gray image could be one of the data set: its size, and its background (0–255, of light on dark)."""
    if is_custom(spec.name) or picture.shape != (spec.size, spec.size) or np.ptp(picture) < BLANK:
        return False
    inked = spec.framing is not None and not spec.framing.photographs  # on black; a photograph fills its image
    return inverted == spec.dark_on_light and (background < BLANK or not inked)


def _prepare_digit(ink: np.ndarray, steps: list[PreparationStep]) -> PreparedImage:
    ink = digit_image.deskew(ink)
    steps.append(PreparationStep("upright", _as_bytes(ink * 255)))
    frame = digit_image.frame_digit(ink)
    steps.append(PreparationStep("stretched, 32 × 32", _as_bytes(frame * 255)))
    image = _as_bytes(digit_image.block_counts(frame) * 255)
    steps.append(PreparationStep("counted in 8 × 8", image))
    return PreparedImage(image=image, steps=tuple(steps))


def _letterbox(picture: np.ndarray, spec: DatasetSpec) -> PreparedImage:
    size = spec.size
    square = letterbox(picture, size)
    thumbnail = Image.fromarray(picture)
    thumbnail.thumbnail((MAX_WORKING_SIDE, MAX_WORKING_SIDE))
    steps = [
        PreparationStep("original", np.asarray(thumbnail)),
        PreparationStep(f"fitted into {size} × {size}", square),
    ]
    if spec.channels == 1:
        square = to_grayscale(square[None])[0]
        steps.append(PreparationStep("gray", square))
    return PreparedImage(image=square, steps=tuple(steps))


def _border(image: np.ndarray) -> np.ndarray:
    return np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])


def _as_bytes(image: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(np.rint(image), 0, 255), np.uint8)


def _scale(ink: np.ndarray, box: int) -> np.ndarray:
    """Scale the longest side to `box` pixels; when shrinking, each new pixel is the mean of those it covers."""
    height, width = ink.shape
    factor = box / max(height, width)
    size = max(1, round(width * factor)), max(1, round(height * factor))
    resampling = Image.Resampling.BOX if factor < 1 else Image.Resampling.BICUBIC
    return np.asarray(np.clip(np.asarray(Image.fromarray(ink.astype(np.float32)).resize(size, resampling)), 0, 1))


def _center(ink: np.ndarray, size: int, by_mass: bool) -> np.ndarray:
    """Center `ink` in a square by whole pixels, as far as it stays inside.

    By mass, as MNIST: the mean pixel index, weighted by ink, becomes `size / 2`; halves round down. By bounding box, as
    Fashion-MNIST: an odd pixel of padding goes left or above.
    """
    height, width = ink.shape
    if by_mass:
        mass = ink.sum()
        top = _half_down(size / 2 - (ink.sum(axis=1) @ np.arange(height)) / mass)
        left = _half_down(size / 2 - (ink.sum(axis=0) @ np.arange(width)) / mass)
    else:
        top, left = (size - height + 1) // 2, (size - width + 1) // 2
    top = int(np.clip(top, 0, size - height))
    left = int(np.clip(left, 0, size - width))
    square = np.zeros((size, size))
    square[top : top + height, left : left + width] = ink
    return square


def _half_down(value: float) -> int:
    """Round to the nearest integer, halves down; values within rounding error of a half count as halves."""
    return math.ceil(round(value, 6) - 0.5)
