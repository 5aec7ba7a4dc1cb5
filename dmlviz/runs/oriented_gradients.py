"""Shapes of images compared by histograms of oriented gradients: what no net has to learn first.

A small net that has seen only digits takes a T for a 7; the directions of their edges differ.

Reference:
    Dalal and Triggs 2005 (the histograms); Breunig et al. 2000 (a distance beside that of the neighbors among
    themselves).
"""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.nearest_neighbors import NearestNeighbors

SIDE = 28  # pixels to which images are scaled
DIRECTIONS = 8
STRIDE = 3  # pixels between the centers of two histograms
NEIGHBORS = 5
CROWDING = 0.75  # power of the neighbors' own distance: 0 ignores it, 1 is the local outlier factor
AXES, MANY = 64, 2000  # principal axes in which so many shapes or more are compared: as good, ten times as fast
_CHUNK = 64  # images whose edges fit into the cache: three times as fast as 256


def oriented_gradients(images: np.ndarray) -> np.ndarray:
    """Return the histograms of the directions of edges on a grid over each image.

    Args:
        images: n × h × w or n × h × w × 3, uint8.

    Returns:
        n × 648, float32: 8 directions at 9 × 9 places, each place of length 1 or, where it is blank, 0.
    """
    return np.concatenate([_oriented_gradients(images[at : at + _CHUNK]) for at in range(0, len(images), _CHUNK)])


def _oriented_gradients(images: np.ndarray) -> np.ndarray:
    pixels = torch.from_numpy(images.astype(np.float32)) / 255
    gray = (pixels.mean(dim=3) if pixels.ndim == 4 else pixels)[:, None]
    if gray.shape[2:] != (SIDE, SIDE):
        gray = F.interpolate(gray, (SIDE, SIDE), mode="bilinear", antialias=True)
    smooth = _blur(gray, 0.7, 2, 1)
    right = F.pad(smooth[..., 2:] - smooth[..., :-2], (1, 1))
    down = F.pad(smooth[..., 2:, :] - smooth[..., :-2, :], (0, 0, 1, 1))
    angles = (torch.arange(DIRECTIONS) * (2 * math.pi / DIRECTIONS))[:, None, None]
    along = (right * angles.cos() + down * angles.sin()).relu()  # n × directions × h × w
    edges = along**3 / (right**2 + down**2 + 1e-6)  # the length of each, mostly in the nearest direction
    histograms = _blur(edges, 2.0, 4, STRIDE).flatten(2)
    return np.asarray((histograms / (histograms.square().sum(dim=1, keepdim=True) + 1e-4).sqrt()).flatten(1))


def _blur(images: Tensor, sigma: float, radius: int, stride: int) -> Tensor:
    """Return images (… × h × w) blurred by a Gaussian, at every `stride`-th pixel; products beat F.conv2d."""
    away = torch.arange(SIDE) - torch.arange(stride // 2, SIDE, stride)[:, None]
    weights = torch.exp(-0.5 * (away / sigma) ** 2).where(away.abs() <= radius, 0)
    weights /= weights.sum(dim=1).max()
    return weights @ images @ weights.T


class ShapeDistance:
    """Tells how far the shape of an image is from those of known ones of its class.

    A T that a net takes for a 7 is near to the shapes of a 1, which says nothing for a 7. A class of few images is
    compared with all.

    Args:
        arrays: What `of_images` makes of the known images, to be kept.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._axes = LinearProjection(arrays["mean"], arrays["axes"], np.ones(0), "pca") if "axes" in arrays else None
        shapes, labels, own = (arrays[name] for name in ("shapes", "labels", "own"))
        classes, counts = np.unique(labels, return_counts=True)
        members = {label: labels == label for label in classes[counts > NEIGHBORS].tolist()}
        self._of = {label: _Shapes(shapes[rows], own[rows]) for label, rows in members.items()}

    @classmethod
    def of_images(cls, known: np.ndarray, labels: np.ndarray) -> Self:
        """Return one for known images, at least 2 (n × h × w or n × h × w × 3, uint8), and their class IDs (n)."""
        shapes, arrays = oriented_gradients(known), {"labels": labels, "own": np.zeros(len(known), np.float32)}
        if len(known) >= MANY:
            axes = LinearProjection.pca(shapes[:: len(shapes) // MANY], AXES)
            shapes = axes.project(shapes)
            arrays |= {"mean": axes.mean, "axes": axes.components}
        for label in np.unique(labels).tolist():
            if (rows := labels == label).sum() > NEIGHBORS:
                arrays["own"][rows] = _own(NearestNeighbors(shapes[rows]))
        return cls(arrays | {"shapes": shapes})

    @cached_property
    def _all(self) -> "_Shapes":
        return _Shapes(self.arrays["shapes"], _own(NearestNeighbors(self.arrays["shapes"])))

    def of(self, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return how far images (as `known`) are from those of the classes `labels` (n), as of `_Shapes.far` (n)."""
        shapes, distances = oriented_gradients(images), np.empty(len(images))
        shapes = self._axes.project(shapes) if self._axes else shapes
        for label in np.unique(labels).tolist():
            rows = labels == label
            distances[rows] = (self._of.get(label) or self._all).far(shapes[rows])
        return distances


def _own(search: NearestNeighbors) -> np.ndarray:
    """Return the mean distance of each shape to the nearest others (n)."""
    return np.asarray(search.others(min(NEIGHBORS, len(search) - 1))[0].mean(axis=1))


class _Shapes:
    """Histograms that are searched, and the distances among themselves."""

    def __init__(self, shapes: np.ndarray, own: np.ndarray) -> None:
        self._search, self._own = NearestNeighbors(shapes), own

    def far(self, shapes: np.ndarray) -> np.ndarray:
        """Return the mean distance of each to the nearest, in terms of that among themselves (n)."""
        distances, nearest = self._search.search(shapes, min(NEIGHBORS, len(self._own) - 1))
        among = np.maximum(self._own[nearest].mean(axis=1), 1e-6)
        return np.asarray(distances.mean(axis=1) / among**CROWDING)
