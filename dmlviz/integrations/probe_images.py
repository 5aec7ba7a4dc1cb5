"""The images that a callback embeds, as one tensor, from whatever a training keeps them in."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dmlviz.errors import UserError

FIELDS = ("pixel_values", "image", "images", "input_ids")  # where items that are mappings keep what the net takes
MAX_BYTES = 4 << 30  # of all images, in memory


def to_probe(images: Any, labels: Any) -> tuple[Tensor, Any]:
    """Return images as one tensor (n × …), and their labels.

    Args:
        images: what the net takes: a tensor, an array, a list of them of one shape, or a Dataset whose items are one,
            (image, label) or a mapping.
        labels: classes (n); None for those of the Dataset, if it has any.

    Raises:
        UserError: for anything else.
    """
    if isinstance(images, (Tensor, np.ndarray)):
        return torch.as_tensor(images), labels
    try:
        items = [_item(images[i]) for i in _indices(images)]
    except (TypeError, NotImplementedError):  # no length, or no items by number
        raise _refused(type(images).__name__) from None
    if not items or not isinstance(items[0][0], (Tensor, np.ndarray)):
        raise _refused(f"{type(images).__name__} of {type(items[0][0]).__name__}" if items else "none")
    shapes = {tuple(image.shape) for image, _ in items}
    if len(shapes) > 1:
        raise _refused(f"shapes {' and '.join(map(str, sorted(shapes)[:2]))}")
    own = [label for _, label in items]
    if labels is None and all(label is not None for label in own):
        labels = [label.item() if isinstance(label, (Tensor, np.generic)) else label for label in own]
    return torch.stack([torch.as_tensor(image) for image, _ in items]), labels


def _indices(images: Any) -> range:
    """Return the numbers of the items; raise UserError where they are too many for memory."""
    count = len(images)
    first = _item(images[0])[0] if count else None
    size = count * getattr(first, "nbytes", 0)
    if size > MAX_BYTES:
        raise UserError(
            f"The recorded images are held in memory, up to {MAX_BYTES >> 30} GB; got {count:,} with "
            f"{size / (1 << 30):.0f} GB: pass fewer, as with torch.utils.data.Subset."
        )
    return range(count)


def _item(item: Any) -> tuple[Any, Any]:
    """Return the image and the label of an item; None where it has no label."""
    if isinstance(item, (tuple, list)) and item:
        return item[0], item[1] if len(item) == 2 and np.ndim(item[1]) == 0 else None
    if hasattr(item, "keys"):
        name = next((name for name in FIELDS if name in item), None)
        label = next((item[name] for name in ("labels", "label") if name in item), None)
        return None if name is None else item[name], label
    return item, None


def _refused(got: str) -> UserError:
    return UserError(
        "images are what the net takes, as a tensor (n × …), a list of tensors of one shape, or a Dataset of them; got "
        f"{got}: apply the transform of the training first."
    )
