"""Positions on the map, packed for the browser: int16 around a center, so that 10,000 points weigh 40 kB."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from dmlviz.ops.linear_projection import LinearProjection, default_projection

INT16_MAX = 32767
MISSING = -32768  # written for a point without a finite position; a reader draws nothing there

Items = Literal["tracked", "all"]


@dataclass(frozen=True)
class Box:
    """A square (or cube) of the world: `center` (dims numbers) and half its side."""

    center: tuple[float, ...]
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

    def contains(self, other: "Box", at_least: float) -> bool:
        """Whether `other` lies inside and fills at least that share of the side."""
        apart = max(abs(a - b) for a, b in zip(self.center, other.center, strict=True))
        return apart + other.scale <= self.scale and other.scale >= at_least * self.scale


@dataclass(frozen=True)
class Frame:
    """Positions of `n` items in `box`, quantized; `id` is the hash of the bytes, so equal frames are one file."""

    n: int
    dims: int
    box: Box
    items: Items
    data: bytes = field(repr=False)

    @classmethod
    def quantized(cls, coordinates: np.ndarray, items: Items, box: Box | None = None) -> Self:
        """Pack positions (n × dims) in `box`, or in the smallest box around them."""
        box = box or Box.around(coordinates)
        n, dims = coordinates.shape
        return cls(n, dims, box, items, quantize(coordinates, box))

    @property
    def id(self) -> str:
        """16 hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """What a reader needs to know besides the bytes, as plain JSON types."""
        box = {"center": list(self.box.center), "scale": self.box.scale}
        return {"id": self.id, "n": self.n, "dims": self.dims, **box, "items": self.items}


def quantize(coordinates: np.ndarray, box: Box) -> bytes:
    """Pack n × dims positions as little-endian int16: world = center + q / 32767 · scale; -32768 is nowhere."""
    inside = (coordinates.astype(np.float64) - np.asarray(box.center)) * (INT16_MAX / box.scale)
    lost = ~np.isfinite(inside).all(axis=1)
    inside[lost] = 0
    packed = np.clip(np.rint(inside), -INT16_MAX, INT16_MAX).astype("<i2")
    packed[lost] = MISSING
    return packed.tobytes()


def dequantize(data: bytes, dims: int, box: Box) -> np.ndarray:
    """Undo `quantize`: float32 positions n × dims, NaN where there are none."""
    packed = np.frombuffer(data, "<i2").reshape(-1, dims)
    world = np.asarray(box.center) + packed / INT16_MAX * box.scale
    world[(packed == MISSING).any(axis=1)] = np.nan
    return world.astype(np.float32)


class LiveProjector:
    """Draws each snapshot as it comes, on its own basis, turned to the frame before so that nothing jumps.

    `labels` (n) are those of the tracked images; without them a large space is drawn by its PCA.
    """

    def __init__(self, labels: np.ndarray | None = None) -> None:
        self.labels = labels
        self.basis: LinearProjection | None = None
        self.positions: np.ndarray | None = None
        self.steady = HysteresisBounds()

    def frame(self, embeddings: np.ndarray) -> Frame:
        """The frame of the tracked images (n × d); n and d stay the same from call to call."""
        basis = default_projection(embeddings, self.labels)
        if self.positions is not None:
            basis = basis.aligned_to(embeddings, self.positions)
        self.basis, self.positions = basis, basis.project(embeddings)
        return Frame.quantized(self.positions, "tracked", self.steady.around(self.positions))


class HysteresisBounds:
    """A box that follows growing or shrinking points in few steps, so that a picture scaled to it does not tremble."""

    def __init__(self, room: float = 1.15, at_least: float = 0.6) -> None:
        self.room = room
        self.at_least = at_least
        self.box: Box | None = None

    def around(self, coordinates: np.ndarray) -> Box:
        """The box of the call before while the points fit and fill enough of it, otherwise a new one with some room."""
        if self.box is None or not self.box.contains(Box.around(coordinates), self.at_least):
            self.box = Box.around(coordinates, self.room)
        return self.box


def render_replay(
    basis: LinearProjection, snapshots: Iterable[tuple[int, np.ndarray]], last: tuple[int, np.ndarray]
) -> list[tuple[int, Frame]]:
    """Draw every snapshot (step, tracked embeddings) and the end (step, all embeddings) on one basis and one scale."""
    drawn: list[tuple[int, np.ndarray, Items]] = [(step, basis.project(x), "tracked") for step, x in snapshots]
    drawn.append((last[0], basis.project(last[1]), "all"))
    box = Box.around(np.concatenate([positions for _, positions, _ in drawn]), room=1.02)
    return [(step, Frame.quantized(positions, items, box)) for step, positions, items in drawn]
