"""Numbers of any library and type, and how many bits they need."""

from typing import Any

import numpy as np

from dmlviz.ops.ball import BallPoints, in_ball

_HELD = 1e-5  # of the distance of two rows: this much may rounding change it
_SMALLEST, _LARGEST = 1e-15, 1e15  # numbers whose squares, and sums of these, float32 holds well
_BLOCK_ROWS = 8192
_DENSE = 1 << 28  # numbers of a sparse matrix that is taken as a dense one


def to_numbers(values: Any) -> np.ndarray:
    """Return numbers as NumPy's float32 or float64, whichever holds them; anything else as the array that it is.

    Args:
        values: A tensor of any device and type, a table, or what NumPy accepts: bool, whole numbers, floats of any size
            and byte order, objects that are numbers, sparse ones, missing ones of pandas and masks (NaN).

    Raises:
        ValueError: For rows of unequal length.
    """
    if isinstance(values, BallPoints):
        return in_ball(to_numbers(values.view(np.ndarray)), values.curvature)
    if hasattr(values, "detach"):
        values = plain_array(values)
    elif hasattr(values, "toarray") and np.prod(values.shape) < _DENSE:  # SciPy's sparse ones
        values = values.toarray()
    elif isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    elif isinstance(values, list | tuple) and any(map(is_read_alone, values)):
        values = [to_numbers(value) for value in values]
    array = np.asarray(values)
    if array.dtype.kind == "O" and array.ndim and not any(isinstance(one, str | bytes) for one in array.flat):
        try:
            array = np.array([_number(one) for one in array.flat]).reshape(array.shape)
        except (TypeError, ValueError):
            return array
    if array.dtype.kind not in "fiub":
        return array
    small = array.dtype.itemsize <= (4 if array.dtype.kind == "f" else 2)
    return np.ascontiguousarray(array, np.float32 if small else np.float64)


def is_read_alone(value: Any) -> bool:
    """Return whether an item of a list is one that NumPy refuses, or of which it forgets the mask."""
    return hasattr(value, "detach") or isinstance(value, np.ma.MaskedArray)


def plain_array(tensor: Any) -> np.ndarray:
    """Return a tensor of torch as an array: dense, in numbers that NumPy knows."""
    tensor = tensor.detach()
    if tensor.device.type == "meta":
        return np.array("a tensor without numbers")
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    tensor = tensor.to_dense().cpu().resolve_conj().resolve_neg()
    small = tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4  # NumPy has no bfloat16
    return np.asarray((tensor.float() if small else tensor).numpy())


def narrowed(rows: np.ndarray) -> np.ndarray:
    """Return vectors (n × d) as float32 if distances stay as they are, and as float64 otherwise.

    They do not where an offset is common to all (a time in seconds, meters of a map grid), or where the unit is so
    small or large that float32 has no squares of the numbers.
    """
    sizes = np.abs(rows)
    largest = float(sizes.max(initial=0, where=np.isfinite(sizes)))
    if 0 < largest < _SMALLEST or largest > _LARGEST:
        return np.asarray(rows, np.float64)
    narrow = np.ascontiguousarray(rows, np.float32)
    if rows.dtype.itemsize <= narrow.dtype.itemsize or len(rows) < 2:
        return narrow
    if not np.isfinite(sizes).all():  # such rows are refused, and have no distances
        return np.asarray(rows, np.float64)
    # Rows next to each other along some direction are of one group, so that their distance is small if any is.
    direction = np.random.default_rng(0).standard_normal(rows.shape[1])
    order = np.argsort(rows @ direction)
    for start in range(0, len(rows) - 1, _BLOCK_ROWS):
        part = order[start : start + _BLOCK_ROWS + 1]
        exact = np.linalg.norm(np.diff(rows[part], axis=0), axis=1)
        rounded = np.linalg.norm(np.diff(narrow[part].astype(np.float64), axis=0), axis=1)
        if (np.abs(rounded - exact) > _HELD * exact).any():
            return np.ascontiguousarray(rows, np.float64)
    return narrow


def origin(rows: np.ndarray) -> np.ndarray:
    """Return the point (d, float64) from which positions of vectors (n × d) are float32: 0, or else their mean."""
    if not len(rows) or narrowed(rows).dtype == np.float32:
        return np.zeros(rows.shape[1])
    return np.asarray(rows.mean(axis=0, dtype=np.float64))


def _number(value: Any) -> float:
    return float("nan") if type(value).__name__ == "NAType" else float(value)
