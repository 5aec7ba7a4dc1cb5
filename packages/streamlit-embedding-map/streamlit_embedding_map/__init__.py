"""A map of embeddings as a component of Streamlit."""

import io
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from PIL import Image

__all__ = ["View", "embedding_map"]

_COLUMNS, _TILES = 100, 10_000  # of a sheet of pictures


class View(NamedTuple):
    """What a person has chosen on a map."""

    selected: list[int]
    pinned: int | None


def embedding_map(
    coordinates: Any,
    labels: Sequence[Any] | np.ndarray | None = None,
    images: np.ndarray | None = None,
    neighbors: tuple[Any, Any] | None = None,
    *,
    key: str,
    height: int = 460,
) -> View:
    """Show a map; with other coordinates at the next run of the script the points move there.

    Args:
        coordinates: Positions, n × 2.
        labels: Class of each point (n), of any type; at most 65,536 classes. They color the points.
        images: Square pictures (n), uint8, n × s × s or n × s × s × 3, of at most 64 pixels a side.
        neighbors: Distances and indices of the k nearest of each point, both n × k, as `kneighbors()` of scikit-learn's
            `NearestNeighbors` returns them. A click on a point shows them.
        key: Streamlit's key.
        height: Height of the map in pixels.

    Returns:
        The selected points, ascending, and the pinned one.

    Raises:
        ValueError: For an array of another shape.
    """
    points = np.ascontiguousarray(coordinates, np.float32)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError(f"coordinates are n × 2 finite numbers; got shape {points.shape}.")
    data: dict[str, Any] = {"coordinates": b64encode(points.tobytes()).decode(), "height": height}
    n = len(points)
    if labels is not None:
        classes, ids = np.unique(_of_length(np.asarray(labels), n, "labels"), return_inverse=True)
        data |= {"classes": [str(name) for name in classes], "labels": ids.tolist()}
    if images is not None:
        pictures = _of_length(np.asarray(images), n, "images")
        data["images"] = {"pngs": _sheets(pictures), "tile": pictures.shape[1]}
    if neighbors is not None:
        distances, indices = (_of_length(np.asarray(each), n, "neighbors") for each in neighbors)
        data["neighbors"] = {"distances": distances.tolist(), "indices": indices.tolist()}
    chosen = _component()(
        key=key, data=data, default={"view": {"selected": [], "pinned": None}}, on_view_change=lambda: None
    )
    return View([*chosen["view"]["selected"]], chosen["view"]["pinned"])


@cache
def _component() -> Any:
    return st.components.v2.component("streamlit-embedding-map.embedding_map", js="embedding_map.js")


def _of_length(values: np.ndarray, n: int, name: str) -> np.ndarray:
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
