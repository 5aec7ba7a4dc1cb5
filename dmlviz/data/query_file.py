"""A query image as it is sent: a file, and which ones are read, or a drawing from the pad of a page."""

from base64 import b64decode
from typing import Any, NotRequired

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from typing_extensions import TypedDict

from dmlviz.catalog.custom_datasets import is_custom
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.image_ops import READABLE, is_deep, on_white, open_quietly, shrink, upright
from dmlviz.errors import UserError

MAX_BYTES = 30 * 1024 * 1024
MAX_PIXELS = 50 * 2**20
MAX_PIXELS_OF_FEW_BYTES = 4096**2
MAX_PIXELS_OF_A_BYTE = 100  # of a larger picture; the palest photographs have some 30
MAX_WORKING_SIDE = 512  # more pixels do not improve an image of 28 × 28
TOO_LARGE = "A picture has up to 50 megapixels"
TOO_MANY_BYTES = f"A picture has up to {MAX_BYTES // 1024**2} MB"


def decode(data: bytes, dataset: str) -> np.ndarray:
    """Decode a query image, transparent parts as `on_white` has them, turned as its EXIF data ask for.

    The size in the header is checked before any pixel is decoded, since 80 kB can announce 160 MB. A JPEG is decoded
    at a reduced size.

    Args:
        data: The file's content.
        dataset: Name of the data set to query.

    Returns:
        uint8: Gray, h × w; h × w × 3 for a data set in color, and for a custom one, decoded as its own images were.

    Raises:
        UserError: For another format, a damaged file, or an image that is too large.
    """
    spec = spec_with_images(dataset)
    if len(data) > MAX_BYTES:
        raise UserError(f"{TOO_MANY_BYTES}; got {len(data) / 1024**2:.1f} MB: send a smaller one.")
    try:
        with open_quietly(data) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise UserError(f"{TOO_LARGE}; got {width} × {height}: send a smaller one.")
            if width * height > max(MAX_PIXELS_OF_FEW_BYTES, MAX_PIXELS_OF_A_BYTE * len(data)):
                raise UserError(
                    f"The file announces {width} × {height} pixels and has {len(data) / 1024:.1f} kB, too few for a "
                    f"photograph: send a smaller picture."
                )
            if (is_custom(dataset) and not spec.of_points) or spec.channels == 3:
                return upright(picture, spec.size)
            picture.draft("L" if picture.mode == "RGB" else None, (MAX_WORKING_SIDE, MAX_WORKING_SIDE))
            small = shrink(picture, 2 * MAX_WORKING_SIDE)
            return np.asarray(_flatten_modes(ImageOps.exif_transpose(small)).convert("L"))
    except Image.DecompressionBombError:
        raise UserError(f"{TOO_LARGE}; this one has far more: send a smaller one.") from None
    except UnidentifiedImageError:
        raise UserError(f"A picture is a {READABLE} file; this file is none of them: save it as one.") from None
    except (OSError, SyntaxError, ValueError, EOFError, RuntimeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError("The picture could not be read: the file is damaged or cut off. Save it again.") from None


def spec_with_images(dataset: str) -> DatasetSpec:
    """Return the spec of a data set; raise UserError for one of embeddings, which no picture can be placed in."""
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
    return on_white(picture)


MAX_SIDE = 512  # pixels


class Drawing(TypedDict):
    """A drawing: side × side bytes of ink, base64."""

    side: int
    strokes: NotRequired[int]
    ink: str


def decode_drawing(drawing: Any) -> np.ndarray | None:
    """Decode a gray image (uint8, side × side); None for an empty pad; raise UserError for anything malformed."""
    if drawing is None:
        return None
    try:
        side, pixels = int(drawing["side"]), np.frombuffer(b64decode(drawing["ink"], validate=True), np.uint8)
        if not 1 <= side <= MAX_SIDE:
            raise ValueError(side)
        return pixels.reshape(side, side)
    except (KeyError, TypeError, ValueError):
        raise UserError("The drawing did not arrive whole; draw again.") from None
