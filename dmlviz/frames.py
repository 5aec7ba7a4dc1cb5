"""Positions on the map, packed for the browser: int16 around a centre, so that 10,000 points weigh 40 kB."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, Self

import numpy as np

LARGEST = 32767
NOWHERE = -32768  # written for a point without a finite position; a reader draws nothing there

Items = Literal["watched", "all"]


@dataclass(frozen=True)
class Box:
    """A square (or cube) of the world: `centre` (dims numbers) and half its side."""

    centre: tuple[float, ...]
    scale: float

    @classmethod
    def around(cls, coordinates: np.ndarray, room: float = 1.0) -> Self:
        """The smallest box with every finite point (n × dims) in it, times `room`; never of size 0."""
        finite = coordinates[np.isfinite(coordinates).all(axis=1)].astype(np.float64)
        if len(finite) == 0:
            return cls((0.0,) * coordinates.shape[1], 1.0)
        low, high = finite.min(axis=0), finite.max(axis=0)
        extent = float((high / 2 - low / 2).max())
        return cls(tuple(float(x) for x in low / 2 + high / 2), max(extent * room, 1e-6))

    def holds(self, other: "Box", at_least: float) -> bool:
        """Whether `other` lies inside and fills at least that share of the side."""
        apart = max(abs(a - b) for a, b in zip(self.centre, other.centre, strict=True))
        return apart + other.scale <= self.scale and other.scale >= at_least * self.scale


@dataclass(frozen=True)
class Frame:
    """Positions of `n` items in `box`, quantised; `id` is the hash of the bytes, so equal frames are one file."""

    n: int
    dims: int
    box: Box
    items: Items
    data: bytes = field(repr=False)

    @classmethod
    def of(cls, coordinates: np.ndarray, items: Items, box: Box | None = None) -> Self:
        """Pack positions (n × dims) in `box`, or in the smallest box around them."""
        box = box or Box.around(coordinates)
        n, dims = coordinates.shape
        return cls(n, dims, box, items, quantise(coordinates, box))

    @property
    def id(self) -> str:
        """16 hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """What a reader needs to know besides the bytes, as plain JSON types."""
        box = {"centre": list(self.box.centre), "scale": self.box.scale}
        return {"id": self.id, "n": self.n, "dims": self.dims, **box, "items": self.items}


def quantise(coordinates: np.ndarray, box: Box) -> bytes:
    """Pack n × dims positions as little-endian int16: world = centre + q / 32767 · scale; -32768 is nowhere."""
    inside = (coordinates.astype(np.float64) - np.asarray(box.centre)) * (LARGEST / box.scale)
    lost = ~np.isfinite(inside).all(axis=1)
    inside[lost] = 0
    packed = np.clip(np.rint(inside), -LARGEST, LARGEST).astype("<i2")
    packed[lost] = NOWHERE
    return packed.tobytes()


def restore(data: bytes, dims: int, box: Box) -> np.ndarray:
    """Undo `quantise`: float32 positions n × dims, NaN where there are none."""
    packed = np.frombuffer(data, "<i2").reshape(-1, dims)
    world = np.asarray(box.centre) + packed / LARGEST * box.scale
    world[(packed == NOWHERE).any(axis=1)] = np.nan
    return world.astype(np.float32)


@dataclass(frozen=True)
class Basis:
    """A linear map from the embedding space to the picture: (x − mean) · componentsᵀ.

    `mean` (d), `components` (dims × d, orthonormal rows), `explained` (dims) the share of the variance on each axis.
    """

    mean: np.ndarray
    components: np.ndarray
    explained: np.ndarray

    @classmethod
    def fit(cls, embeddings: np.ndarray, dims: int = 2) -> Self:
        """The space itself when it has no more than `dims` dimensions, otherwise the first principal axes.

        Rows that are not finite are left out. The sign of an axis makes its largest entry positive.
        """
        d = embeddings.shape[1]
        finite = embeddings[np.isfinite(embeddings).all(axis=1)].astype(np.float64)
        if d <= dims or len(finite) == 0:
            mean, components = np.zeros(d), np.eye(dims, d)
        else:
            mean = finite.mean(axis=0)
            centred = finite - mean
            _, vectors = np.linalg.eigh(centred.T @ centred)
            components = vectors.T[::-1][:dims]
            largest = np.abs(components).argmax(axis=1)
            components = components * np.sign(components[np.arange(dims), largest])[:, None]
        return cls(mean, components, _explained(finite, components))

    @property
    def view(self) -> Literal["plane", "pca"]:
        """What the picture is called: the learned plane itself, or a PCA of a larger space."""
        return "plane" if self.components.shape[1] <= self.components.shape[0] else "pca"

    def project(self, embeddings: np.ndarray) -> np.ndarray:
        """Positions (n × dims, float32) of embeddings (n × d)."""
        with np.errstate(invalid="ignore", over="ignore"):
            return ((embeddings.astype(np.float64) - self.mean) @ self.components.T).astype(np.float32)

    def turned_to(self, embeddings: np.ndarray, target: np.ndarray) -> "Basis":
        """The same picture, rotated or mirrored so that `embeddings` land as near `target` as they can (Procrustes).

        The plane stays as it is: there the axes are the space itself. Meant for a basis fresh from `fit`.
        """
        if self.view == "plane":
            return self
        placed = self.project(embeddings)
        known = np.isfinite(placed).all(axis=1) & np.isfinite(target).all(axis=1)
        if known.sum() < 2:
            return self
        placed, target = placed[known].astype(np.float64), target[known].astype(np.float64)
        u, _, vt = np.linalg.svd((placed - placed.mean(axis=0)).T @ (target - target.mean(axis=0)))
        turn = (u @ vt).T
        # Principal axes are uncorrelated, so that the variances along turned ones follow from those along the first.
        return Basis(self.mean, turn @ self.components, turn**2 @ self.explained)

    def save(self, file: IO[bytes]) -> None:
        """Write mean, components and explained as npz (no pickle)."""
        np.savez(file, mean=self.mean, components=self.components, explained=self.explained)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["mean"], stored["components"], stored["explained"])


class LiveView:
    """Draws each snapshot as it comes, on its own basis, turned to the frame before so that nothing jumps."""

    def __init__(self, dims: int = 2) -> None:
        self.dims = dims
        self.basis: Basis | None = None
        self.positions: np.ndarray | None = None
        self.steady = SteadyBox()

    def frame(self, embeddings: np.ndarray) -> Frame:
        """The frame of the watched images (n × d); n and d stay the same from call to call."""
        basis = Basis.fit(embeddings, self.dims)
        if self.positions is not None:
            basis = basis.turned_to(embeddings, self.positions)
        self.basis, self.positions = basis, basis.project(embeddings)
        return Frame.of(self.positions, "watched", self.steady.around(self.positions))


class SteadyBox:
    """A box that follows growing or shrinking points in few steps, so that a picture scaled to it does not tremble."""

    def __init__(self, room: float = 1.15, at_least: float = 0.6) -> None:
        self.room = room
        self.at_least = at_least
        self.box: Box | None = None

    def around(self, coordinates: np.ndarray) -> Box:
        """The box of the call before while the points fit and fill enough of it, otherwise a new one with some room."""
        if self.box is None or not self.box.holds(Box.around(coordinates), self.at_least):
            self.box = Box.around(coordinates, self.room)
        return self.box


def replay(
    basis: Basis, snapshots: Iterable[tuple[int, np.ndarray]], last: tuple[int, np.ndarray]
) -> list[tuple[int, Frame]]:
    """Draw every snapshot (step, watched embeddings) and the end (step, all embeddings) on one basis and one scale."""
    drawn: list[tuple[int, np.ndarray, Items]] = [(step, basis.project(x), "watched") for step, x in snapshots]
    drawn.append((last[0], basis.project(last[1]), "all"))
    box = Box.around(np.concatenate([positions for _, positions, _ in drawn]), room=1.02)
    return [(step, Frame.of(positions, items, box)) for step, positions, items in drawn]


def _explained(finite: np.ndarray, components: np.ndarray) -> np.ndarray:
    if len(finite) == 0:
        return np.zeros(len(components))
    total = finite.var(axis=0).sum()
    along = (finite @ components.T).var(axis=0)
    return along / total if total > 0 else np.zeros(len(components))
