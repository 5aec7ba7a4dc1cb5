"""Class labels as people have them: whole numbers and texts of any library, without a rounding and without a merger."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from dmlviz.errors import UserError
from dmlviz.storage.text import one_line


def is_missing(labels: Any) -> np.ndarray:
    """Return which labels (n, of any library) are missing (mask): nothing, NaN, NaT, NA, masked, an empty text.

    Examples:
        >>> is_missing(["a", None, float("nan"), " "]).tolist()
        [False, True, True, True]
    """
    array = _array(labels, "labels")
    masked = np.ma.getmaskarray(labels) if isinstance(labels, np.ma.MaskedArray) else False
    if array.dtype.kind in "biu":
        found = np.zeros(array.shape, bool)
    elif array.dtype.kind in "fcmM":
        found = array != array
    else:
        found = np.array([_is_missing(label) for label in array.ravel().tolist()], bool).reshape(array.shape)
    return found | masked


def _is_missing(label: Any) -> bool:
    if label is None or label is np.ma.masked or type(label).__name__ == "NAType":  # pandas' NA, neither equal nor not
        return True
    if isinstance(label, str | bytes):
        return not label.strip()
    return bool(label != label)


def are_flags(labels: Any) -> bool:
    """Return whether all labels that are not missing are True or False: names of classes, not the numbers 1 and 0.

    Examples:
        >>> are_flags([True, None, False]), are_flags([1, 0])
        (True, False)
    """
    array = _array(labels, "labels")
    if array.dtype.kind != "O":
        return array.dtype.kind == "b"
    return all(isinstance(label, bool | np.bool_) for label in array[~is_missing(array)].tolist())


_RULE = "Labels are whole numbers or texts"


def read_labels(
    values: Any, count: int | None = None, name: str = "labels", *, missing: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each label, and the classes.

    Args:
        values: n labels, as a list, an array of any library, a tensor or a column of a table: whole numbers of any
            size and type (bool and whole floats, too) or texts (objects, categories, bytes).
        count: The number of labels that there must be; None for any.
        name: What a message calls them.
        missing: Take labels that are missing, as `is_missing` says; their index is -1.

    Returns:
        Indices (n, int64) into the classes, and the classes, ascending: int64, or objects, which are texts, bytes, or
        whole numbers of which some are beyond int64.

    Raises:
        UserError: For another shape, a label that is missing where none may be, or one that is neither whole number nor
            text.

    Examples:
        >>> read_labels(["b", "a", "b"])[0].tolist(), read_labels([2**64, 7])[1].tolist()
        ([1, 0, 1], [7, 18446744073709551616])
    """
    array = _array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or count not in (None, len(array)):
        size, pass_them = ("", "classes") if count is None else (f" for {count:,} embeddings", f"{count:,} classes")
        raise UserError(
            f"There is one label for each embedding; got {name} of shape {array.shape}{size}: pass {pass_them} in one "
            "dimension."
        )
    is_masked = isinstance(values, np.ma.MaskedArray)
    known = ~is_missing(values if is_masked else array).reshape(array.shape)
    if missing:
        index = np.full(len(array), -1)
        index[known], classes = read_labels(array[known], name=name)
        return index, classes
    if not known.all():
        _refuse(list(values.ravel()) if is_masked else array.tolist(), int(known.argmin()))
    if array.dtype.kind in "fc":
        array = _from_floats(array)
    if array.dtype.kind == "O":
        array = _from_objects(array.tolist())
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        array = _narrow(array.tolist()) if len(array) and array.max() >= 2**63 else array
    if array.dtype.kind in "biu":
        array = array.astype(np.int64)
    elif array.dtype.kind in "US":
        array = array.astype(object)
    elif array.dtype.kind != "O":
        raise UserError(f"{_RULE}; got {array.dtype}: convert them, as with astype(str).")
    classes, index = np.unique(array, return_inverse=True)
    return index.astype(np.int64), classes


def common_classes(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the classes of two sides together, and where those of each side stand among them."""
    sides = [side for side in (first, second) if len(side)]
    if len({type(side.tolist()[0]) for side in sides}) > 1:
        found = " and ".join(_brief(side.tolist()[0]) for side in sides)
        raise UserError(f"Queries and gallery have labels of one kind; got {found}: convert the labels of one side.")
    kind = first.dtype if first.dtype == second.dtype else object
    classes = np.unique(np.concatenate([side.astype(kind) for side in (first, second)]))
    return classes, np.searchsorted(classes, first.astype(kind)), np.searchsorted(classes, second.astype(kind))


def _array(values: Any, name: str) -> np.ndarray:
    """Return an array that tells apart whatever the values tell apart."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    if isinstance(values, list | tuple) and any(hasattr(value, "detach") for value in values):
        values = [value.item() if hasattr(value, "detach") and value.numel() == 1 else value for value in values]
    if isinstance(values, list | tuple) and any(value is np.ma.masked for value in values):  # NumPy writes nan or "--"
        values = np.array(values, object)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        raise UserError(f"{name} is one array; got {_brief(values)}: pass one class for each embedding.") from None
    if isinstance(values, list | tuple) and array.ndim == 1 and array.dtype.kind in "fcUS":
        # NumPy writes [1, "1"] as two equal texts, and rounds [2**63, -1].
        array = np.array(values, object)
    return array


def _from_floats(array: np.ndarray) -> np.ndarray:
    array = array.astype(np.result_type(array, np.float64), copy=False)
    odd = ~np.isfinite(array) | (array != array.real.round())
    if odd.any():
        _refuse(array.tolist(), int(odd.argmax()))
    if not len(array) or np.abs(array).max() < 2.0**63:
        return array.real.astype(np.int64)
    return _narrow([int(value) for value in array.real.tolist()])


def _from_objects(values: Sequence[Any]) -> np.ndarray:
    """Return labels as objects of one type, str, bytes or int; the last as int64 where that holds them."""
    labels: list[Any] = []
    for place, value in enumerate(values):
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, str | bytes):
            try:
                whole = int(value)
            except (TypeError, ValueError, OverflowError):
                _refuse(values, place)
            if whole != value:
                _refuse(values, place)
            value = whole
        labels.append(value)
    kinds = [str if isinstance(label, str) else type(label) for label in labels]
    if len(set(kinds)) > 1:
        other = next(place for place, kind in enumerate(kinds) if kind is not kinds[0])
        raise UserError(
            f"{_RULE}, not both; got {_brief(values[0])} at index 0 and {_brief(values[other])} at index {other:,}: "
            "convert them, as with map(str, labels)."
        )
    return _narrow(labels)


def _narrow(labels: Sequence[Any]) -> np.ndarray:
    if all(type(label) is int and -(2**63) <= label < 2**63 for label in labels):
        return np.array(labels, np.int64)
    return np.array(labels, object)


def _refuse(values: Sequence[Any], place: int) -> NoReturn:
    missing = _is_missing(values[place])
    advice = "label every embedding, or leave it out" if missing else "convert them, as with map(str, labels)"
    raise UserError(f"{_RULE}; got {_brief(values[place])} at index {place:,}: {advice}.")


def _brief(value: Any) -> str:
    return "a masked one" if value is np.ma.masked else one_line(repr(value), 40)
