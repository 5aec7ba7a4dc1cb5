"""A map of embeddings as a component of Streamlit."""

import io
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from PIL import Image

__all__ = ["View", "embedding_map"]

_COLUMNS, _TILES = 100, 10_000  # of a sheet of pictures
_NO_LABEL = "no label"  # the map draws this class gray
_MAX_CLASSES = 65_535
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")  # not seen, or they turn a line around


class View(NamedTuple):
    """What a person has chosen on a map: numbers of rows of the coordinates that were given last."""

    selected: list[int]
    pinned: int | None


def embedding_map(
    coordinates: Any,
    labels: Any = None,
    images: np.ndarray | None = None,
    neighbors: tuple[Any, Any] | None = None,
    *,
    key: str,
    ids: Sequence[Any] | None = None,
    height: int = 460,
) -> View:
    """Show a map; with other coordinates at the next run of the script the points move there.

    Args:
        coordinates: Positions, n × 2.
        labels: Class of each point (n), of any type; at most 65,535 classes. They color the points. A missing one
            (None, NaN, NA, an empty text) is gray.
        images: Square pictures (n), uint8, n × s × s or n × s × s × 3, of at most 64 pixels a side.
        neighbors: Distances and indices of the k nearest of each point, both n × k, as `kneighbors()` of scikit-learn's
            `NearestNeighbors` returns them. A click on a point shows them.
        key: Streamlit's key.
        ids: What each point is (n), all different, such as the index of a DataFrame. When points come or go, what is
            selected and pinned follows them; without ids a row stays selected by its number, as far as there is one.
        height: Height of the map in pixels.

    Returns:
        The selected points, ascending, and the pinned one.

    Raises:
        ValueError: For an array of another shape, or values that a map cannot show; with the row.
    """
    points = _coordinates(coordinates)
    n = len(points)
    data: dict[str, Any] = {"coordinates": b64encode(points.tobytes()).decode(), "height": height}
    if labels is not None:
        data |= _classes(_of_length(labels, n, "labels"))
    if images is not None:
        pictures = _of_length(np.asarray(images), n, "images")
        data["images"] = {"pngs": _sheets(pictures), "tile": pictures.shape[1]}
    if neighbors is not None:
        data["neighbors"] = _neighbors(*(_of_length(np.asarray(each), n, "neighbors") for each in neighbors))
    rows = None if ids is None else _rows(_of_length(ids, n, "ids"))
    if rows is not None:
        data["ids"] = [*rows]
    before = st.session_state.get(key)
    view = _view(before["view"], rows, n) if before else View([], None)
    chosen = _component()(
        key=key,
        data=data | {"view": view._asdict()},
        default={"view": {"selected": [], "pinned": None}},
        on_view_change=lambda: None,
    )
    return _view(chosen["view"], rows, n)


@cache
def _component() -> Any:
    return st.components.v2.component("streamlit-embedding-map.embedding_map", js="embedding_map.js")


def _view(told: Any, rows: dict[str, int] | None, n: int) -> View:
    """Return what the page said, of these points: it may have shown others."""

    def row_of(point: Any) -> int | None:
        if rows is not None:
            return rows.get(point)
        return point if isinstance(point, int) and point < n else None

    chosen = (row_of(point) for point in told["selected"])
    return View(sorted(row for row in chosen if row is not None), row_of(told["pinned"]))


def _coordinates(values: Any) -> np.ndarray:
    """Return positions from -1 to 1: far from 0, or very close together, float32 could not tell them apart."""
    try:
        points = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError("coordinates are n × 2 numbers; got something else: leave other columns out.") from None
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"coordinates are n × 2 numbers; got shape {points.shape}.")
    _check_finite(points, "coordinates")
    if len(points):
        low, high = points.min(axis=0) / 2, points.max(axis=0) / 2
        points = (points - (low + high)) / (max(high - low) or 1.0)
    return np.ascontiguousarray(points, np.float32)


def _check_finite(values: np.ndarray, name: str) -> None:
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        more = f" and {len(bad) - 1:,} more" if len(bad) > 1 else ""
        held = ", ".join(str(value) for value in values[bad[0]].tolist())
        raise ValueError(f"{name} are finite; row {bad[0]} holds {held}{more}: leave these rows out.")


def _classes(labels: Any) -> dict[str, Any]:
    """Return names and numbers of the classes, numbers first; those that are missing are the last."""
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu().numpy()
    if isinstance(labels, np.ndarray):
        labels = labels.reshape(len(labels)) if labels.size == len(labels) else labels
    values = pd.Series(labels if isinstance(labels, np.ndarray) else list(labels), dtype=object)
    texts = [_NO_LABEL if missing else _text(value) for value, missing in zip(values, values.isna(), strict=True)]
    names = sorted({*texts}, key=lambda text: (text == _NO_LABEL, *_order(text)))
    if len(names) > _MAX_CLASSES:
        raise ValueError(f"labels name up to {_MAX_CLASSES:,} classes; got {len(names):,}.")
    numbers = {name: number for number, name in enumerate(names)}
    return {"classes": names, "labels": [numbers[text] for text in texts]}


def _text(label: Any) -> str:
    if isinstance(label, float | np.floating) and float(label).is_integer():
        label = int(label)  # pandas writes whole numbers like this where one is missing
    if isinstance(label, bytes):
        label = label.decode(errors="replace")
    return _CONTROL.sub(" ", str(label)).strip() or _NO_LABEL


def _order(text: str) -> tuple[bool, float, str]:
    try:
        number = float(text)
    except ValueError:
        return True, 0.0, text
    return False, number, text


def _neighbors(distances: np.ndarray, indices: np.ndarray) -> dict[str, Any]:
    n = len(indices)
    if indices.ndim != 2 or distances.shape != indices.shape:
        raise ValueError(f"neighbors are two n × k arrays; got shapes {distances.shape} and {indices.shape}.")
    if indices.dtype.kind not in "iu" or (indices.size and not 0 <= indices.min() <= indices.max() < n):
        raise ValueError(f"Indices of neighbors are whole numbers from 0 to {n - 1}: distances come first.")
    _check_finite(distances, "distances of neighbors")
    return {"distances": distances.tolist(), "indices": indices.tolist()}


def _rows(ids: Any) -> dict[str, int]:
    rows: dict[str, int] = {}
    for row, name in enumerate(ids):
        if rows.setdefault(str(name), row) != row:
            raise ValueError(f"ids are all different; rows {rows[str(name)]} and {row} are both {str(name)!r}.")
    return rows


def _of_length(values: Any, n: int, name: str) -> Any:
    if len(values) != n:
        raise ValueError(f"{name} has one entry for each of the {n} points; got {len(values)}.")
    return values


def _sheets(images: np.ndarray) -> list[str]:
    """Return the pictures as PNG files in base64: 100 in a row, at most 10,000 in a file."""
    side, depth = images.shape[1], images.shape[3:]
    if images.dtype != np.uint8 or images.shape[2] != side or side > 64 or depth not in ((), (3,)):
        raise ValueError(
            f"images are uint8, n × s × s or n × s × s × 3 with s ≤ 64; got {images.dtype}, {images.shape}."
        )
    sheets = []
    for start in range(0, len(images), _TILES):
        part = images[start : start + _TILES]
        rows = -(-len(part) // _COLUMNS)
        tiles = np.zeros((rows * _COLUMNS, side, side, *depth), np.uint8)
        tiles[: len(part)] = part
        sheet = tiles.reshape(rows, _COLUMNS, side, side, *depth).swapaxes(1, 2).reshape(rows * side, -1, *depth)
        file = io.BytesIO()
        Image.fromarray(sheet).save(file, "PNG")
        sheets.append(b64encode(file.getvalue()).decode())
    return sheets
