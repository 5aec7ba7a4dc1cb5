"""Shapes of images compared by histograms of oriented gradients, their parts, and their ink: no net has to learn it.

A small net that has seen only digits takes a T for a 7; the directions of their edges differ.

Reference:
    Dalal and Triggs 2005 (the histograms); Breunig et al. 2000 (a distance beside that of the neighbors among
    themselves); Keysers et al. 2007, "Deformation models for image recognition" (parts that are found nearby).
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
NEIGHBORS = 10
BLANK = 0.2  # squared length of edges up to which a place is nearly blank: far less, and specks count like strokes
CROWDING = 0.75  # power of the neighbors' own distance: 0 ignores it, 1 is the local outlier factor
AXES, MANY = 64, 2000  # principal axes in which so many shapes or more are compared: as good, ten times as fast
NEAREST = 3  # known images whose parts are compared
REACH = 2  # pixels by which a part may have moved, and that it has on each side of its center
_MOVES = [(y, x) for y in range(-REACH, REACH + 1) for x in range(-REACH, REACH + 1) if y * y + x * x <= REACH * REACH]
_PARTS = torch.ones(SIDE, SIDE + 2 * REACH).triu().tril(2 * REACH)  # sums the rows, or columns, of each part
_SLOPE, _BEND, _HERE = torch.tensor([[-0.5, 0, 0.5], [1, -2, 1], [0, 1, 0]])
_PAIRS = (_HERE, _SLOPE), (_SLOPE, _HERE), (_HERE, _BEND), (_BEND, _HERE), (_SLOPE, _SLOPE)
_DERIVATIVES = torch.stack([torch.outer(down, right) for down, right in _PAIRS])[:, None]
_CHUNK = 64  # images whose edges fit into the cache: three times as fast as 256
_FEW = 16  # images, with NEAREST others each: for the same reason


def oriented_gradients(images: np.ndarray) -> np.ndarray:
    """Return the histograms of the directions of edges on a grid over each image.

    Args:
        images: n × h × w or n × h × w × 3, uint8.

    Returns:
        n × 648, float32: 8 directions at 9 × 9 places, each place of a length up to 1; 0 where it is blank.
    """
    return np.concatenate([_oriented_gradients(images[at : at + _CHUNK]) for at in range(0, len(images), _CHUNK)])


def _oriented_gradients(images: np.ndarray) -> np.ndarray:
    right, down = _slopes(_gray(images)).split(1, dim=1)
    angles = (torch.arange(DIRECTIONS) * (2 * math.pi / DIRECTIONS))[:, None, None]
    along = (right * angles.cos() + down * angles.sin()).relu()  # n × directions × h × w
    edges = along**3 / (right**2 + down**2 + 1e-6)  # the length of each, mostly in the nearest direction
    histograms = _blur(edges, 2.0, 4, STRIDE).flatten(2)
    return np.asarray((histograms / (histograms.square().sum(dim=1, keepdim=True) + BLANK).sqrt()).flatten(1))


def _slopes(grays: Tensor) -> Tensor:
    """Return how slightly blurred gray values (n × 1 × h × w) rise to the right and down (n × 2 × h × w)."""
    smooth = _blur(grays, 0.7, 2, 1)
    right, down = smooth[..., 2:] - smooth[..., :-2], smooth[..., 2:, :] - smooth[..., :-2, :]
    return torch.cat([F.pad(right, (1, 1)), F.pad(down, (0, 0, 1, 1))], dim=1)


def _gray(images: np.ndarray) -> Tensor:
    pixels = torch.from_numpy(images.astype(np.float32)) / 255
    gray = (pixels.mean(dim=3) if pixels.ndim == 4 else pixels)[:, None]
    return (
        gray if gray.shape[2:] == (SIDE, SIDE) else F.interpolate(gray, (SIDE, SIDE), mode="bilinear", antialias=True)
    )


def ink(images: np.ndarray) -> np.ndarray:
    """Return seven measures of each image, which noise, print and scribbles have others of than digits.

    Args:
        images: n × h × w or n × h × w × 3, uint8.

    Returns:
        n × 7, float32: its ink and the length of its edges, width and height of the ink, how dark it is, the share of
        fine detail, and how much its outlines turn, all but the fifth as logarithms.
    """
    return np.concatenate([_ink(_gray(images[at : at + _CHUNK])) for at in range(0, len(images), _CHUNK)])


def _ink(images: Tensor) -> np.ndarray:
    gray, turning = images[:, 0], _turning(_blur(images, 0.7, 2, 1)) + 0.1
    total = gray.sum(dim=(1, 2)) + 1e-3
    across = [_spread(gray.sum(dim=axis) / total[:, None]) for axis in (1, 2)]
    right, down = (F.pad(gray, edge).diff(dim=axis) for edge, axis in (((0, 1), 2), ((0, 0, 0, 1), 1)))
    edges = (right**2 + down**2).sqrt().sum(dim=(1, 2)) + 1e-3
    squares = gray.square().sum(dim=(1, 2))
    fine = torch.fft.rfft2(gray)[:, 8:21, 6:].abs().square().sum(dim=(1, 2)) / (squares + 1e-3) + 1e-4
    measures = total.log(), edges.log(), *across, squares / total, fine.log(), turning.log()
    return torch.stack(measures, dim=1).numpy()


def _turning(smooth: Tensor) -> Tensor:
    """Return the angle by which the outlines at all gray levels turn, left or right (n): Σ |∇I| |κ|."""
    right, down, across, along, both = F.conv2d(smooth, _DERIVATIVES, padding=1).unbind(1)
    bend = across * down**2 - 2 * both * right * down + along * right**2
    return (bend.abs() / (right**2 + down**2 + 1e-3)).sum(dim=(1, 2))


def _spread(shares: Tensor) -> Tensor:
    """Return the logarithm of the standard deviation of the place (n), for shares of each place (n × SIDE)."""
    at = torch.arange(SIDE) / SIDE
    mean = (shares * at).sum(dim=1, keepdim=True)
    return 0.5 * ((shares * (at - mean) ** 2).sum(dim=1) + 1e-5).log()


def _blur(images: Tensor, sigma: float, radius: int, stride: int) -> Tensor:
    """Return images (… × h × w) blurred by a Gaussian, at every `stride`-th pixel; products beat F.conv2d."""
    away = torch.arange(SIDE) - torch.arange(stride // 2, SIDE, stride)[:, None]
    weights = torch.exp(-0.5 * (away / sigma) ** 2).where(away.abs() <= radius, 0)
    weights /= weights.sum(dim=1).max()
    return weights @ images @ weights.T


def _strangest_parts(grays: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return how far the part of each image is that is found least in the most alike of its known ones (n).

    A part may have moved by a few pixels, each in its own direction.

    Args:
        grays: n × SIDE × SIDE, uint8.
        known: The known images of each (n × k × SIDE × SIDE, uint8).
    """
    n, k = known.shape[:2]
    images = F.pad(_slopes(_gray(grays)), (REACH,) * 4)[:, None]
    others = F.pad(_slopes(_gray(known.reshape(n * k, SIDE, SIDE))), (2 * REACH,) * 4).unflatten(0, (n, k))
    side, least = SIDE + 2 * REACH, torch.full((n, k, SIDE, SIDE), torch.inf)
    for down, right in _MOVES:
        moved = others[..., REACH + down : REACH + down + side, REACH + right : REACH + right + side]
        squares = (images - moved).square_().sum(dim=2)
        least = torch.minimum(least, _PARTS @ squares @ _PARTS.T)
    return least.amax(dim=(2, 3)).amin(dim=1).sqrt().numpy()


class ShapeDistance:
    """Tells how far the shape, the parts and the ink of an image are from those of known ones of its class.

    A T that a net takes for a 7 is near to the shapes of a 1, which says nothing for a 7. A class of few images is
    compared with all.

    Args:
        arrays: What `of_images` makes of the known images, to be kept.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays
        classes, counts = np.unique(arrays["labels"], return_counts=True)
        common = classes[counts > NEIGHBORS].tolist()
        self._of = {label: self._known(np.flatnonzero(arrays["labels"] == label), arrays["own"]) for label in common}

    def _known(self, rows: np.ndarray, own: np.ndarray) -> "_Shapes":
        shapes, inks = self.arrays["shapes"][rows], self.arrays["inks"][rows]
        return _Shapes(shapes, own[rows], inks, self.arrays["grays"], rows)

    @classmethod
    def of_images(cls, known: np.ndarray, labels: np.ndarray) -> Self:
        """Return one for known images, at least 2 (n × h × w or n × h × w × 3, uint8), and their class IDs (n)."""
        shapes, arrays = oriented_gradients(known), {"labels": labels, "own": np.zeros(len(known), np.float32)}
        if len(known) >= MANY:
            axes = LinearProjection.pca(shapes[:: len(shapes) // MANY], AXES)
            arrays |= {"mean": axes.mean.astype(np.float32), "axes": axes.components.astype(np.float32)}
            shapes = _along_axes(shapes, arrays)
        shapes = shapes.astype(np.float16)  # half of the file
        for label in np.unique(labels).tolist():
            if (rows := labels == label).sum() > NEIGHBORS:
                arrays["own"][rows] = _own(shapes[rows])
        return cls(arrays | {"shapes": shapes, "inks": ink(known), "grays": _small(known)})

    @cached_property
    def _all(self) -> "_Shapes":
        shapes = self.arrays["shapes"]
        return self._known(np.arange(len(shapes)), _own(shapes))

    def of(self, images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how far the shapes, parts and ink of images (as `known`) are from those of the classes `labels`."""
        shapes, inks, distances = oriented_gradients(images), ink(images), np.empty((3, len(images)))
        shapes, grays = _along_axes(shapes, self.arrays), _small(images)
        for label in np.unique(labels).tolist():
            rows, known = labels == label, self._of.get(label) or self._all
            distances[:2, rows] = known.far(shapes[rows], grays[rows])
            distances[2, rows] = known.ink_far(inks[rows])
        return distances[0], distances[1], distances[2]


def _along_axes(shapes: np.ndarray, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    return (shapes - arrays["mean"]) @ arrays["axes"].T if "axes" in arrays else shapes


def _small(images: np.ndarray) -> np.ndarray:
    """Return images in gray (n × SIDE × SIDE, uint8)."""
    chunks = (images[at : at + _CHUNK] for at in range(0, len(images), _CHUNK))
    return np.concatenate([np.asarray((_gray(chunk)[:, 0] * 255).round(), np.uint8) for chunk in chunks])


def _own(shapes: np.ndarray) -> np.ndarray:
    """Return the mean distance of each shape to the nearest others (n)."""
    search = NearestNeighbors(shapes.astype(np.float32))
    return np.asarray(search.others(min(NEIGHBORS, len(search) - 1))[0].mean(axis=1))


class _Shapes:
    """Histograms that are searched, the distances among themselves, the spread of their ink, and their rows in gray."""

    def __init__(
        self, shapes: np.ndarray, own: np.ndarray, inks: np.ndarray, grays: np.ndarray, rows: np.ndarray
    ) -> None:
        self._search, self._own = NearestNeighbors(shapes.astype(np.float32)), own
        self._grays, self._rows = grays, rows
        self._ink, self._spread = inks.mean(axis=0), np.linalg.inv(np.cov(inks.T) + 1e-4 * np.eye(inks.shape[1]))

    def far(self, shapes: np.ndarray, grays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean distance of each to the nearest, in terms of that among themselves (n), and of its parts."""
        distances, nearest = self._search.search(shapes, min(NEIGHBORS, len(self._own) - 1))
        among = np.maximum(self._own[nearest].mean(axis=1), 1e-6)
        nearest = self._rows[nearest[:, :NEAREST]]
        chunks = (slice(at, at + _FEW) for at in range(0, len(grays), _FEW))
        parts = [_strangest_parts(grays[chunk], self._grays[nearest[chunk]]) for chunk in chunks]
        return distances.mean(axis=1) / among**CROWDING, np.concatenate(parts)

    def ink_far(self, inks: np.ndarray) -> np.ndarray:
        """Return the Mahalanobis distance of the ink of each (n)."""
        away = inks - self._ink
        return np.asarray(np.sqrt(((away @ self._spread) * away).sum(axis=1)))
