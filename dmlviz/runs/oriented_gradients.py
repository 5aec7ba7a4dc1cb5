"""Shapes of images compared by histograms of oriented gradients: what no net has to learn first.

A small net that has seen only digits takes a T for a 7; the directions of their edges differ.

Reference:
    Dalal and Triggs 2005 (the histograms); Breunig et al. 2000 (a distance beside that of the neighbors among
    themselves).
"""

import math
from functools import cached_property

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
        known: Images, at least 2 (n × h × w or n × h × w × 3, uint8).
        labels: Their class IDs (n).
    """

    def __init__(self, known: np.ndarray, labels: np.ndarray) -> None:
        self._known = oriented_gradients(known)
        self._axes: LinearProjection | None = None
        if len(known) >= MANY:
            self._axes = LinearProjection.pca(self._known[:: len(known) // MANY], AXES)
            self._known = self._axes.project(self._known)
        classes, counts = np.unique(labels, return_counts=True)
        self._of = {label: _Shapes(self._known[labels == label]) for label in classes[counts > NEIGHBORS].tolist()}

    @cached_property
    def _all(self) -> "_Shapes":
        return _Shapes(self._known)

    def of(self, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return how far images (as `known`) are from those of the classes `labels` (n), as of `_Shapes.far` (n)."""
        shapes, distances = oriented_gradients(images), np.empty(len(images))
        shapes = self._axes.project(shapes) if self._axes else shapes
        for label in np.unique(labels).tolist():
            rows = labels == label
            distances[rows] = (self._of.get(label) or self._all).far(shapes[rows])
        return distances


class _Shapes:
    """Histograms that are searched."""

    def __init__(self, shapes: np.ndarray) -> None:
        self._search = NearestNeighbors(shapes)
        self._neighbors = min(NEIGHBORS, len(shapes) - 1)
        self._own = self._search.others(self._neighbors)[0].mean(axis=1)

    def far(self, shapes: np.ndarray) -> np.ndarray:
        """Return the mean distance of each to the nearest, in terms of that among themselves (n)."""
        distances, nearest = self._search.search(shapes, self._neighbors)
        among = np.maximum(self._own[nearest].mean(axis=1), 1e-6)
        return np.asarray(distances.mean(axis=1) / among**CROWDING)
