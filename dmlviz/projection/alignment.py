"""Turns maps so that they can be looked at one after another: t-SNE and UMAP do not care which way is up. No torch."""

from collections.abc import Sequence

import numpy as np

from dmlviz.errors import UserError


def align(frames: Sequence[np.ndarray], *, scale: bool = False) -> list[np.ndarray]:
    """Turn, mirror and move each map (n × dims) onto the one before it (orthogonal Procrustes); the first stays.

    Distances within a map stay as they are, unless `scale` lets a map also grow or shrink.
    """
    aligned: list[np.ndarray] = []
    for frame in frames:
        if aligned and np.shape(frame) != aligned[-1].shape:
            raise UserError(f"Maps are aligned point by point; got shapes {aligned[-1].shape} and {np.shape(frame)}.")
        aligned.append(_procrustes(frame, aligned[-1], scale) if aligned else np.asarray(frame, np.float32))
    return aligned


def _procrustes(frame: np.ndarray, target: np.ndarray, scale: bool) -> np.ndarray:
    here, there = (np.asarray(points, np.float64) for points in (frame, target))
    middle, wanted = here.mean(axis=0), there.mean(axis=0)
    here, there = here - middle, there - wanted
    left, strength, right = np.linalg.svd(here.T @ there)
    size = np.square(here).sum()
    factor = strength.sum() / size if scale and size > 0 else 1.0
    return (factor * here @ (left @ right) + wanted).astype(np.float32)
