"""Images of any common layout as small squares, to be seen on the map."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from dmlviz.data.image_folder import LEAST_SIDE, MOST_SIDE, check_pixels
from dmlviz.data.image_ops import letterbox, to_rgb
from dmlviz.errors import UserError
from dmlviz.recording.inputs import to_numpy

DEFAULT_SIDE = 64  # pixels
LAYOUTS = "N × H × W, N × C × H × W or N × H × W × C, with C = 1 or 3"
_CHUNK = 512  # images converted at a time


def to_pictures(images: Any, count: int, side: int | None = None) -> np.ndarray:
    """Return images as uint8 squares of at most so many pixels a side.

    Larger ones are scaled down whole, on the color of their border. Numbers from 0 to 1 or 0 to 255 are taken as such;
    any other range, as of normalized images, is stretched from black to white, each channel by itself.

    Args:
        images: uint8, bool or floats, a PyTorch tensor or an array: see LAYOUTS; or a list of Pillow's images, of any
            sizes. Transparent parts, also of uint8 N × H × W × 4, are white.
        count: The number of labels, or of embeddings without labels.
        side: The largest side, 8 to 224; by default 64.

    Returns:
        n × s × s or n × s × s × 3.

    Raises:
        UserError: For any other shape or type, values that are not finite, or more than 6 GB in all.
    """
    most = DEFAULT_SIDE if side is None else side
    if not LEAST_SIDE <= most <= MOST_SIDE:
        raise UserError(f"side is {LEAST_SIDE} to {MOST_SIDE} pixels; got {side}: choose one in that range.")
    prefer_first = hasattr(images, "detach")
    if isinstance(images, (list, tuple)) and images:
        prefer_first = hasattr(images[0], "detach")
        if all(isinstance(image, Image.Image) for image in images):
            images = _pillow_squares(images, most)
    array = to_numpy(images)
    if len(array.shape) == 0 or len(array) != count:
        raise UserError(
            f"There is one image for each label or point; got {count:,}, and images of shape {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        raise UserError(f"Images are uint8 or floats; got {array.dtype}: open files with Pillow first.")
    if array.dtype == np.uint8 and array.ndim == 4 and array.shape[3] == 4 and array.shape[1] not in (1, 3):
        array = _on_white(array)
    array = _channels_last(array, prefer_first)
    if 0 in array.shape:
        raise UserError(f"Images have at least one pixel; got shape {array.shape}.")
    low, scale = _range(array)
    height, width, channels = array.shape[1:]
    side = min(max(height, width), most)
    check_pixels(count, side)
    squares = np.empty((count, side, side, *([3] if channels == 3 else [])), np.uint8)
    for start in range(0, count, _CHUNK):
        part = array[start : start + _CHUNK]
        if array.dtype != np.uint8 or scale != 1:
            part = np.clip(np.rint((part.astype(np.float32) - low) * scale), 0, 255).astype(np.uint8)
        squares[start : start + _CHUNK] = _squares(part, side)
    return squares


def _pillow_squares(images: Sequence[Image.Image], most: int) -> np.ndarray:
    """Return Pillow's images as squares as large as the largest needs (n × s × s × 3)."""
    side = min(most, max(max(image.size) for image in images))
    check_pixels(len(images), side)
    return np.stack([letterbox(np.asarray(to_rgb(image)), side) for image in images])


def _on_white(images: np.ndarray) -> np.ndarray:
    """Return uint8 images (n × h × w × 4) without their transparency (n × h × w × 3)."""
    colors = np.empty((*images.shape[:3], 3), np.uint8)
    for start in range(0, len(images), _CHUNK):
        part = images[start : start + _CHUNK].astype(np.float32)
        alpha = part[..., 3:] / 255
        colors[start : start + _CHUNK] = np.rint(part[..., :3] * alpha + 255 * (1 - alpha))
    return colors


def _channels_last(images: np.ndarray, prefer_first: bool) -> np.ndarray:
    """Return n × h × w × c; the order of tensors where both would fit is channels first, that of arrays last."""
    if images.ndim == 3:
        return images[..., None]
    if images.ndim == 4:
        first, last = images.shape[1] in (1, 3), images.shape[3] in (1, 3)
        if first and (prefer_first or not last):
            return images.transpose(0, 2, 3, 1)
        if last:
            return images
    raise UserError(f"Images are {LAYOUTS}; got shape {images.shape}: reorder or drop channels.")


def _range(images: np.ndarray) -> tuple[Any, Any]:
    """Return (low, scale) so that (value − low) · scale runs from 0 to 255."""
    if images.dtype == np.uint8:
        return 0, 255 if images.max() <= 1 else 1
    if images.dtype == bool:
        return 0, 255
    if images.dtype.kind not in "fiu":
        raise UserError(
            f"Images are uint8 or floats; got {images.dtype}: convert them, as by opening files with Pillow."
        )
    axes = tuple(range(images.ndim - 1))
    low, high = images.min(axis=axes), images.max(axis=axes)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise UserError("The pixels of images are finite; got NaN or infinity: check how they were normalized.")
    if low.min() >= 0 and high.max() <= 255:
        return 0, 255 if high.max() <= 1 else 1
    return low.astype(np.float32), (255 / np.maximum(high.astype(np.float64) - low, 1e-12)).astype(np.float32)


def _squares(images: np.ndarray, side: int) -> np.ndarray:
    """Return uint8 images (n × h × w × c) as squares, without the axis of the only channel of gray ones."""
    height, width, channels = images.shape[1:]
    if not height == width == side:
        in_color = np.broadcast_to(images, (*images.shape[:3], 3))
        images = np.stack([letterbox(np.ascontiguousarray(image), side) for image in in_color])
    return images[..., 0] if channels == 1 else images
