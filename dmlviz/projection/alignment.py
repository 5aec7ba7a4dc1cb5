"""Procrustes alignment of successive maps: t-SNE and UMAP have no fixed orientation. No torch."""

from collections.abc import Sequence

import numpy as np

from dmlviz.errors import UserError


def align(frames: Sequence[np.ndarray], *, scale: bool = False) -> list[np.ndarray]:
    """Rotate, mirror and translate each map onto the one before it (orthogonal Procrustes).

    Args:
        frames: Maps of the same points, each n × dims.
        scale: Also scale each map, which changes its distances.

    Returns:
        The aligned maps (float32); the first is unchanged.

    Raises:
        UserError: For maps of different shapes.

    Examples:
        >>> first = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
        >>> bool(np.allclose(align([first, -first])[1], first, atol=1e-6))
        True
    """
    aligned: list[np.ndarray] = []
    for frame in frames:
        if aligned and np.shape(frame) != aligned[-1].shape:
            raise UserError(f"Maps are aligned point by point; got shapes {aligned[-1].shape} and {np.shape(frame)}.")
        aligned.append(align_by(frame, frame, aligned[-1], scale) if aligned else np.asarray(frame, np.float32))
    return aligned


def align_by(frame: np.ndarray, known: np.ndarray, target: np.ndarray, scale: bool = False) -> np.ndarray:
    """Move a map (n × dims, float32) as its points `known` have to be moved to come nearest to `target` (m × dims)."""
    a, b = (np.asarray(points, np.float64) for points in (known, target))
    mean, target_mean = a.mean(axis=0), b.mean(axis=0)
    rotation, overlap = _rotation(a - mean, b - target_mean)
    size = np.square(a - mean).sum()
    factor = overlap / size if scale and size > 0 else 1.0
    return np.asarray(factor * (frame - mean) @ rotation + target_mean, np.float32)


def rotation_onto(frame: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the orthogonal R with which `frame @ R` is nearest to a map of the same points, up to a shift."""
    a, b = (np.asarray(points, np.float64) - np.mean(points, axis=0) for points in (frame, target))
    return _rotation(a, b)[0]


def _rotation(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
    u, singular_values, vt = np.linalg.svd(a.T @ b)
    return u @ vt, singular_values.sum()
