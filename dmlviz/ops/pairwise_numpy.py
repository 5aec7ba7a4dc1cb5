"""Distances between the rows of NumPy arrays, for code that loads no torch."""

from typing import Literal

import numpy as np


def distances(
    x: np.ndarray, measure: Literal["euclidean", "sqeuclidean", "cosine"], y: np.ndarray | None = None
) -> np.ndarray:
    """Return the distances (n × m, float32) from the rows of `x` to those of `y`, or among the rows of `x`.

    "cosine" means 1 − cosine.
    """
    a = x.astype(np.float64)
    b = a if y is None else y.astype(np.float64)
    if measure == "cosine":
        return np.asarray(1 - _l2_normalize(a) @ _l2_normalize(b).T, np.float32)
    center = a.mean(axis=0) if len(a) else 0.0  # far from the origin the squares would lose their digits
    a, b = a - center, b - center
    squared = np.maximum((a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T, 0)
    if y is None:
        np.fill_diagonal(squared, 0)
    return np.asarray(squared if measure == "sqeuclidean" else np.sqrt(squared), np.float32)


def _l2_normalize(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30))
