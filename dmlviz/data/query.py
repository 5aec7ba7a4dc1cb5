"""From any picture to what a net was trained on: a drawing, an upload, a photograph becomes one small image.

The steps are those that made the data sets themselves (LeCun et al. 1998; Xiao et al. 2017), and each is kept
to be shown.
"""

import io
import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from dmlviz.data import handprint
from dmlviz.data.declared import DATASETS, DatasetDeclaration
from dmlviz.data.own import is_own
from dmlviz.data.squares import fitted_in, upright
from dmlviz.data.understood import greyed
from dmlviz.errors import UserError

MAX_BYTES = 2 * 1024 * 1024
MAX_SIDE = 4096
WORKING_SIDE = 512  # more pixels than this add nothing to an image of 28 × 28
TOO_LARGE = f"A picture may be up to {MAX_SIDE} × {MAX_SIDE} pixels"
FORMATS = ("PNG", "JPEG", "WEBP")
HANDPRINT = "digits"  # made in another way than the others: see `handprint`
FAINT = 0.12  # ink below this share of the darkest stroke is paper
TRIM = 0.05  # of the full range; what differs less from the ground was trimmed from the pictures of clothes


@dataclass(frozen=True)
class PreparationStep:
    """One picture on the way, uint8 h × w (× 3), and what was done to get it."""

    caption: str
    image: np.ndarray


@dataclass(frozen=True)
class Query:
    """`image` is the net's input before normalisation, uint8 size × size (× 3); `steps` lead to it and end with it."""

    image: np.ndarray
    steps: tuple[PreparationStep, ...]


@dataclass(frozen=True)
class Framing:
    """How the images of a data set sit in their square: longest side `box`, centered by mass or by outline.

    `photographs` have levels that mean something and stay as they are; ink is made as dark as it goes.
    """

    box: int
    by_mass: bool
    photographs: bool = False


# Checked on the data by tests/bench/bench_query.py: MNIST and Fashion-MNIST. Not checked, for want of the data:
# EMNIST, whose letters are put into the middle of a square with a border of 2 pixels, which is then made 28 × 28
# (Cohen et al. 2017; that the border is of 2 pixels of the 28 is our reading); and KMNIST, whose authors do not say
# how they framed its characters, so that its box is a guess.
FRAMINGS = {
    "mnist": Framing(20, True),
    "fashion_mnist": Framing(28, False, photographs=True),
    "kmnist": Framing(26, False),
    "emnist_letters": Framing(24, False),
}


def decode(data: bytes, dataset: str) -> np.ndarray:
    """Read a PNG, JPEG or WebP picture to ask about among the images of `dataset`, transparent parts on white.

    Return uint8 grey h × w; for somebody's own data h × w × 3, read as their pictures were when they were added.
    Raise UserError for anything else.

    The announced size is checked before any pixel is decoded, since 80 kB can announce 160 MB.
    """
    declared = _declared(dataset)
    if len(data) > MAX_BYTES:
        raise UserError(f"A picture may have up to 2 MB; got {len(data) / 1024**2:.1f} MB: send a smaller one.")
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
            if max(width, height) > MAX_SIDE:
                raise UserError(f"{TOO_LARGE}; got {width} × {height}: send a smaller one.")
            if is_own(dataset):
                return upright(picture, declared.size)
            picture.draft("RGB", (WORKING_SIDE, WORKING_SIDE))
            return np.asarray(_plain(ImageOps.exif_transpose(picture)).convert("L"))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UserError(
            f"A picture may be up to {MAX_SIDE} × {MAX_SIDE} pixels; this one announces far more."
        ) from None
    except UnidentifiedImageError:
        raise UserError("A picture is a PNG, JPEG or WebP file; this file is none of them.") from None
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError("The picture could not be read: the file is damaged or cut off. Save it again.") from None


def _declared(dataset: str) -> DatasetDeclaration:
    declared = DATASETS[dataset]
    if declared.size == 0:
        raise UserError(f"{declared.title} holds vectors that came without a net, so no picture can be placed there.")
    return declared


def _plain(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith("I"):  # 16 bits a pixel: Pillow's own conversion would clip them
        deep = np.asarray(picture, dtype=np.float64)
        picture = Image.fromarray((deep / max(deep.max(), 1) * 255).astype(np.uint8))
    picture.thumbnail((WORKING_SIDE, WORKING_SIDE))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return picture


def prepare(picture: np.ndarray, dataset: str) -> Query:
    """Frame a grey picture (uint8, h × w) as the images of `dataset` are framed; raise UserError for a blank one.

    Among somebody's own pictures one in colour (h × w × 3) is fitted whole, as they were; a grey one is a drawing, and
    put on the ground that they have.
    """
    declared = _declared(dataset)
    picture = np.asarray(picture)
    if (
        picture.ndim == 3
        and picture.shape[2] == 3
        and dataset not in (*FRAMINGS, HANDPRINT)
        and picture.dtype == np.uint8
    ):
        return _fitted(picture, declared)
    if declared.channels == 3:
        raise UserError(f"{declared.title} is in colour, which cannot be drawn: upload a picture instead.")
    framing = FRAMINGS.get(dataset) or Framing(round(0.8 * declared.size), False)
    if picture.ndim != 2 or picture.dtype != np.uint8 or not picture.size:
        raise UserError(f"A picture is a grey uint8 array h × w; got {picture.dtype} of shape {picture.shape}.")
    steps = [PreparationStep("grey", picture)]

    ink = picture.astype(np.float64)
    ground = float(np.median(_border(ink)))
    if ground > 127:
        ink, ground = 255 - ink, 255 - ground
        steps.append(PreparationStep("inverted: the ground was light", _as_bytes(ink)))
    ink = np.clip(ink - ground, 0, None)
    peak = float(np.percentile(ink[ink > 0], 99)) if (ink > 0).any() else 0.0
    if peak < 16:
        raise UserError("The picture is blank: nothing stands out from its ground. Draw or choose something else.")
    ink = np.clip(ink / (255 - ground if framing.photographs else peak), 0, 1)
    ink[ink < (TRIM if framing.photographs else FAINT)] = 0
    ink = handprint.cropped(ink, 0)
    steps.append(PreparationStep("cropped to the ink", _as_bytes(ink * 255)))
    if dataset == HANDPRINT:
        return _as_handprint(ink, steps)

    ink = _scale(ink, framing.box)
    if not framing.photographs:
        ink = np.clip(ink / max(float(ink.max()), 1e-6), 0, 1)
    steps.append(PreparationStep(f"scaled to {framing.box} × {framing.box}", _as_bytes(ink * 255)))
    ink = _centered(ink, declared.size, framing.by_mass)
    how = "mass" if framing.by_mass else "outline"
    image = _as_bytes(ink * 255)
    steps.append(PreparationStep(f"{how} centered in {declared.size} × {declared.size}", image))
    if declared.light_ground:
        image = 255 - image
        steps.append(PreparationStep("dark on light, as the data are", image))
    return Query(image=image, steps=tuple(steps))


def _as_handprint(ink: np.ndarray, steps: list[PreparationStep]) -> Query:
    ink = handprint.upright(ink)
    steps.append(PreparationStep("set upright", _as_bytes(ink * 255)))
    frame = handprint.framed(ink)
    steps.append(PreparationStep("stretched in 32 × 32", _as_bytes(frame * 255)))
    image = _as_bytes(handprint.counted(frame) * 255)
    steps.append(PreparationStep("counted in 8 × 8", image))
    return Query(image=image, steps=tuple(steps))


def _fitted(picture: np.ndarray, declared: DatasetDeclaration) -> Query:
    size = declared.size
    fitted = fitted_in(picture, size)
    shown = Image.fromarray(picture)
    shown.thumbnail((WORKING_SIDE, WORKING_SIDE))
    steps = [
        PreparationStep("as it came", np.asarray(shown)),
        PreparationStep(f"fitted whole into {size} × {size}", fitted),
    ]
    if declared.channels == 1:
        fitted = greyed(fitted[None])[0]
        steps.append(PreparationStep("grey, as the data are", fitted))
    return Query(image=fitted, steps=tuple(steps))


def _border(image: np.ndarray) -> np.ndarray:
    return np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])


def _as_bytes(image: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def _scale(ink: np.ndarray, box: int) -> np.ndarray:
    """Fit the longest side to `box` pixels, every new pixel the mean of the old ones that it covers."""
    height, width = ink.shape
    factor = box / max(height, width)
    size = max(1, round(width * factor)), max(1, round(height * factor))
    way = Image.Resampling.BOX if factor < 1 else Image.Resampling.BICUBIC
    return np.clip(np.asarray(Image.fromarray(ink.astype(np.float32)).resize(size, way)), 0, 1)


def _centered(ink: np.ndarray, size: int, by_mass: bool) -> np.ndarray:
    """Lay `ink` into a square, in whole pixels, its center as near to the square's as all of it stays inside.

    By mass as MNIST does: the mean pixel index, weighted by ink, is `size / 2`, and one that lies half a pixel off is
    half a pixel less. By outline as Fashion-MNIST does: what cannot be shared alike is left or above.
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
    """Round to the nearest whole number, half down; what misses a half only by a rounding error is one."""
    return math.ceil(round(value, 6) - 0.5)
