"""Preparation of a query image (drawing, upload, photograph) in the way the data set was made.

The steps follow LeCun et al. 1998 (MNIST) and Xiao et al. 2017 (Fashion-MNIST); each is recorded for display.
"""

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image

from dmlviz.catalog.custom_datasets import is_custom
from dmlviz.catalog.dataset_spec import DatasetSpec, Framing
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import digit_image, photograph
from dmlviz.data.cutout import SAME, cut_out, own_ground
from dmlviz.data.frame import Frame, around, around_mask, cover, cut
from dmlviz.data.image_ops import BLANK, border_pixels, letterbox
from dmlviz.data.import_report import to_grayscale
from dmlviz.data.query_file import MAX_WORKING_SIDE, spec_with_images
from dmlviz.errors import UserError
from dmlviz.ops.dots import SIDE, UNIT, draw_dots

BLANK_PICTURE = "The picture is blank: nothing stands out from its background. Draw or choose something else."
INK_THRESHOLD = 0.12  # ink below this share of the darkest stroke is paper
TRIM = 0.05  # of the full range; smaller differences from the background were trimmed in Fashion-MNIST


@dataclass(frozen=True)
class PreparationStep:
    """An intermediate image (uint8, h × w or h × w × 3), and a caption for the step that made it."""

    caption: str
    image: np.ndarray


@dataclass(frozen=True)
class PreparedImage:
    """A net's input before normalization (uint8, size × size or size × size × 3), with the steps that end with it.

    Attributes:
        image: The input.
        steps: Steps of the preparation, in order.
        frame: The part of the picture that was used; None where it is taken as it is.
        frames: All that was found, the chosen one first.
    """

    image: np.ndarray
    steps: tuple[PreparationStep, ...]
    frame: Frame | None = None
    frames: tuple[Frame, ...] = ()

    @property
    def choice(self) -> str:
        """A sentence where several things were found, of which nobody chose this one; otherwise empty."""
        many = len(self.frames) > 1
        return f"One of {len(self.frames)} things in the picture: cut out the one that is meant." if many else ""


def prepare(picture: np.ndarray, dataset: str, frame: Frame | None = None) -> PreparedImage:
    """Crop, scale and center an image as the images of a data set are.

    An image that could be one of them is taken as it is: of exactly their size, on their background. So a test image
    lands on itself. Of a drawing, on a ground of one color, all ink is taken; of a photograph, what is most likely
    meant: the largest, or what is in the middle. For a custom data set, a color image (h × w × 3) is letterboxed like
    its images, which leaves one of their size as it is; a gray one counts as a drawing.

    Args:
        picture: uint8, h × w or h × w × 3.
        dataset: Name of the data set.
        frame: The part of the picture to use, turned upright; None finds it.

    Raises:
        UserError: For a blank image, or another shape or type.
    """
    spec = spec_with_images(dataset)
    picture = np.asarray(picture)
    if picture.ndim == 3 and picture.shape[2] == 3 and spec.framing is None and picture.dtype == np.uint8:
        return _letterbox(picture, spec, frame)
    if spec.channels == 3:
        raise UserError(f"A drawing is gray; {spec.title} is in color: upload a picture instead.")
    framing = spec.framing or Framing(box=round(0.8 * spec.size))
    if picture.ndim != 2 or picture.dtype != np.uint8 or not picture.size:
        raise UserError(f"A picture is a gray uint8 array h × w; got {picture.dtype} of shape {picture.shape}.")
    inverted = float(np.median(border_pixels(picture))) > 127
    if frame is None and _in_form(picture, inverted, spec):
        return PreparedImage(image=picture, steps=(PreparationStep(f"{spec.size} × {spec.size}: as it is", picture),))
    steps = [PreparationStep("gray", picture)]
    find = _find_drawn if _is_drawing(picture) else _find_thing if framing.photographs else _find_written
    ink, frames = find(picture, framing, frame, steps)
    if framing.point:
        return _dot(ink, steps)
    if frame is not None:
        ink = cut(ink, frame, outside=0)
        if not (ink > 0).any():
            raise UserError("The frame is empty: nothing stands out in it. Move it to what is meant.")
    ink = digit_image.crop(ink, 0)
    steps.append(PreparationStep("cropped", _as_bytes(ink * 255)))
    image = _fit(ink, spec, framing, steps)
    if frame is not None:
        frames = (frame, *frames)
    return PreparedImage(image=image, steps=tuple(steps), frame=frames[0], frames=frames)


def _dot(ink: np.ndarray, steps: list[PreparationStep]) -> PreparedImage:
    """Return the dot in the middle of all ink, as the pictures of points have it."""
    down, across = (float(ink.sum(axis=1 - axis) @ np.arange(size)) for axis, size in enumerate(ink.shape))
    side = max(ink.shape)
    x, y = (
        (at / ink.sum() + 0.5 - size / 2) * SIDE / side / UNIT
        for at, size in ((across, ink.shape[1]), (down, ink.shape[0]))
    )
    point = np.clip([[x, -y]], -1, 1)
    image = draw_dots(point)[0]
    steps.append(PreparationStep("x = {:.2f}, y = {:.2f}".format(*point[0]), image))
    return PreparedImage(image=image, steps=tuple(steps))


def _is_drawing(picture: np.ndarray) -> bool:
    """Return whether a picture has a ground of exactly one color, as a drawing has and no photograph.

    Noise, and the traces of a JPEG, differ from the ground by little; the soft edges of strokes seldom do.
    """
    border = border_pixels(picture)
    ground = np.median(border)
    difference = np.abs(picture - ground)
    faint = np.count_nonzero((difference > 0) & (difference < 5))
    alike = float(np.mean(picture[:, 1:] == picture[:, :-1])) > 0.85 if picture.shape[1] > 1 else False  # or enlarged
    few = faint <= (0.15 if alike else 0.03) * np.count_nonzero(difference)
    return bool(min(picture.shape) < photograph.SMALLEST or (few and np.mean(border == ground) >= 0.5))


def _find_drawn(
    picture: np.ndarray, framing: Framing, frame: Frame | None, steps: list[PreparationStep]
) -> tuple[np.ndarray, tuple[Frame, ...]]:
    """Return the ink of a drawing (float, h × w, 0 to 1): what differs from the color of its border."""
    ink = picture.astype(np.float32)
    background = float(np.median(border_pixels(ink)))
    if background > 127:
        ink, background = 255 - ink, 255 - background
        steps.append(PreparationStep("inverted", _as_bytes(ink)))
    ink = np.clip(ink - background, 0, None)
    peak = float(np.percentile(ink[ink > 0], 99)) if (ink > 0).any() else 0.0
    if peak < BLANK:
        raise UserError(BLANK_PICTURE)
    ink = np.clip(ink / (255 - background if framing.photographs else peak), 0, 1)
    ink[ink < (TRIM if framing.photographs else INK_THRESHOLD)] = 0
    return ink, (around_mask(ink),)


def _find_thing(
    picture: np.ndarray, framing: Framing, frame: Frame | None, steps: list[PreparationStep]
) -> tuple[np.ndarray, tuple[Frame, ...]]:
    """Return a photographed thing as if it lay on black (float32, h × w, 0 to 1); light grounds are inverted."""
    inside = None if frame is None else cover(frame, picture.shape)
    cut = cut_out(np.repeat(picture[..., None], 3, axis=2), inside)
    if not cut.masks:
        return _find_drawn(picture, framing, frame, steps)
    ground = cut.ground[..., 0]
    if np.median(ground) > 127:
        steps.append(PreparationStep("inverted", 255 - picture))
        ink = 1 - picture / np.maximum(ground, 1)
    else:
        ink = (picture - ground) / (255 - ground)
    ink = np.clip(ink, 0, 1).astype(np.float32)
    steps.append(PreparationStep("background removed", _as_bytes(ink * 255)))
    ink = ink * (cut.masks[0] if frame is None else np.max(cut.masks, axis=0))
    ink[ink < TRIM] = 0
    if not ink.any():
        raise UserError(BLANK_PICTURE)
    steps.append(PreparationStep("cut out", _as_bytes(ink * 255)))
    return ink, tuple(around_mask(mask > 0.5) for mask in cut.masks)


def _find_written(
    picture: np.ndarray, framing: Framing, frame: Frame | None, steps: list[PreparationStep]
) -> tuple[np.ndarray, tuple[Frame, ...]]:
    """Return the ink of what is meant in a photograph, or with a frame all of it (float32, h × w, 0 to 1)."""
    dark = picture
    if photograph.is_light_on_dark(picture):
        dark = 255 - picture
        steps.append(PreparationStep("inverted", picture))
    photo = photograph.lift(dark)
    steps.append(PreparationStep("background removed", _as_bytes(photo.flat * 255)))
    if not photo.groups:
        raise UserError(BLANK_PICTURE)
    steps.append(PreparationStep("ink", _as_bytes(photo.ink * 255)))
    ink = photo.ink if frame else np.where(photo.near(photo.groups[0]), photo.ink, np.float32(0))
    return ink, tuple(
        around(group.rows.start, group.columns.start, group.rows.stop, group.columns.stop, ink.shape)
        for group in photo.groups
    )


def _fit(ink: np.ndarray, spec: DatasetSpec, framing: Framing, steps: list[PreparationStep]) -> np.ndarray:
    """Scale and center cropped ink, and record each step."""
    if framing.block_counts:
        return _fit_digit(ink, steps)
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
    return image


def describe_preparation(dataset: str) -> str:
    """Say what `prepare` does to an uploaded picture for this data set."""
    spec = DATASETS[dataset]
    square = f"{spec.size} × {spec.size}"
    if spec.of_points:
        return "The middle of what stands out in a picture is the point; its place in the picture is x and y."
    if is_custom(dataset) or spec.channels == 3:
        gray = "" if spec.channels == 3 else " All become gray."
        return f"A picture of {square} pixels is taken as it is; others are fitted, on the color of their border.{gray}"
    framing = spec.framing or Framing(box=round(0.8 * spec.size))
    if framing.block_counts:
        scaling = f"made upright, stretched to 32 × 32 and counted in blocks to {square}"
    else:
        scaling = f"scaled to {framing.box} × {framing.box} and centered"
    light, dark = ("dark", "light") if spec.dark_on_light else ("light", "dark")
    thing = "its background is removed" if framing.photographs else "shadows and ruled lines are removed"
    return (
        f"A gray picture of exactly {square} pixels on a {dark} ground, as the test images are, is taken as it is. Any "
        f"other is made gray, {light} on {dark}, cropped to what stands out from its background, {scaling}. Of a "
        f"photograph, {thing}, and the largest thing, or the one in the middle, is taken."
    )


def _in_form(picture: np.ndarray, inverted: bool, spec: DatasetSpec) -> bool:
    """Return whether a gray image could be one of the data set: its size, and its background."""
    if is_custom(spec.name) or picture.shape != (spec.size, spec.size) or np.ptp(picture) < BLANK:
        return False
    border = float(np.median(border_pixels(picture)))
    background = 255 - border if inverted else border
    is_ink = spec.framing is not None and not spec.framing.photographs  # on black; a photograph fills its image
    return inverted == spec.dark_on_light and (background < BLANK or not is_ink)


def _fit_digit(ink: np.ndarray, steps: list[PreparationStep]) -> np.ndarray:
    ink = digit_image.deskew(ink)
    steps.append(PreparationStep("upright", _as_bytes(ink * 255)))
    frame = digit_image.frame_digit(ink)
    steps.append(PreparationStep("stretched, 32 × 32", _as_bytes(frame * 255)))
    image = _as_bytes(digit_image.block_counts(frame) * 255)
    steps.append(PreparationStep("counted in 8 × 8", image))
    return image


def _letterbox(picture: np.ndarray, spec: DatasetSpec, frame: Frame | None) -> PreparedImage:
    """Fit a color image into the square; where the data set's images lie on one color, without its own ground."""
    size = spec.size
    thumbnail = Image.fromarray(picture)
    thumbnail.thumbnail((MAX_WORKING_SIDE, MAX_WORKING_SIDE))
    steps = [PreparationStep("original", np.asarray(thumbnail))]
    frames: tuple[Frame, ...] = () if frame is None else (frame,)
    result = _on_own_ground(picture, spec, frame, steps)
    if result is not None:
        picture, thing_frames = result
        frames += thing_frames
    elif frame is not None:
        picture = cut(picture, frame)
        steps.append(PreparationStep("cropped", picture))
    square = letterbox(picture, size)
    steps.append(PreparationStep(f"fitted into {size} × {size}", square))
    if spec.channels == 1:
        square = to_grayscale(square[None])[0]
        steps.append(PreparationStep("gray", square))
    return PreparedImage(image=square, steps=tuple(steps), frame=frames[0] if frames else None, frames=frames)


def _on_own_ground(
    picture: np.ndarray, spec: DatasetSpec, frame: Frame | None, steps: list[PreparationStep]
) -> tuple[np.ndarray, tuple[Frame, ...]] | None:
    """Cut the thing out of a photograph and lay it on the ground of the data set; None where there is no such ground.

    A picture that lies on that ground already is left as it is, as are those that the data set was made of.
    """
    own = own_ground(spec.name) if min(picture.shape[:2]) > spec.size else None
    if own is None or np.mean(np.abs(border_pixels(picture) - own.color).max(axis=1) <= SAME) > 0.9:
        return None
    cutout = cut_out(picture, None if frame is None else cover(frame, picture.shape))
    if not cutout.masks:
        return None
    mask = cutout.masks[0] if frame is None else np.max(cutout.masks, axis=0)
    clear = _as_bytes(picture * mask[..., None] + own.color * (1 - mask[..., None]))
    steps.append(PreparationStep("background removed", clear))
    frames = tuple(around_mask(one > 0.5) for one in cutout.masks)
    box = frame or frames[0]
    things = cut(np.dstack([picture.astype(np.float32), mask]), box, outside=0)
    weight = things[..., 3:]
    pixels = things[..., :3] * weight + own.color * (1 - weight)
    side = round(max(pixels.shape[:2]) / min(1.0, max(own.share, 0.3)))
    canvas = np.empty((side, side, 3), np.uint8)
    canvas[:] = _as_bytes(own.color)
    top, left = (side - pixels.shape[0]) // 2, (side - pixels.shape[1]) // 2
    canvas[top : top + pixels.shape[0], left : left + pixels.shape[1]] = _as_bytes(pixels)
    steps.append(PreparationStep("cropped", canvas))
    return canvas, frames


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
