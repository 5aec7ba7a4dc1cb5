"""Labels that are missing: they are no class."""

from typing import Any

import numpy as np


def is_missing(labels: Any) -> np.ndarray:
    """Return which labels (n, of any library) are missing (mask): nothing, NaN, NaT, NA, masked, an empty text.

    Example:
        >>> is_missing(["a", None, float("nan"), " "]).tolist()
        [False, True, True, True]
    """
    array = np.asarray(labels.detach().cpu() if hasattr(labels, "detach") else labels)
    masked = np.ma.getmaskarray(labels) if isinstance(labels, np.ma.MaskedArray) else False
    if array.dtype.kind in "biu":
        found = np.zeros(array.shape, bool)
    elif array.dtype.kind in "fcmM":
        found = array != array
    else:
        found = np.array([_is_missing(label) for label in array.ravel().tolist()], bool).reshape(array.shape)
    return found | masked


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ == "NAType":  # that of pandas, which is neither equal nor unequal
        return True
    if isinstance(label, str | bytes):
        return not label.strip()
    return bool(label != label)
