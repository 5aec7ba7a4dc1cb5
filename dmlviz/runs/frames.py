"""Map positions quantized to int16 for the browser: 10,000 points take 40 kB."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np

from dmlviz.ops.linear_projection import LinearProjection, default_projection
from dmlviz.storage.run_schema.events import FrameMeta

INT16_MAX = 32767
FAR = 100  # times the distance of the others: int16 leaves these a few hundred places a side
MISSING = -32768  # a point without a finite position, which is not drawn

Items = Literal["tracked", "all"]


@dataclass(frozen=True)
class Box:
    """A square or cube in map coordinates: `center` (dims values), and half of its side as `scale`."""

    center: tuple[float, ...]
    scale: float

    @classmethod
    def around(cls, coordinates: np.ndarray, room: float = 1.0) -> Self:
        """Return the bounding box of all finite points (n × dims) but far ones, scaled by `room`; never of size 0."""
        return cls.around_all([coordinates], room)

    @classmethod
    def around_all(cls, frames: Iterable[np.ndarray], room: float = 1.0) -> Self:
        """Return one box around the points of several frames, each without its far ones."""
        points = np.concatenate([without_far(coordinates) for coordinates in frames])
        if len(points) == 0:
            return cls((0.0,) * points.shape[1], 1.0)
        low, high = points.min(axis=0), points.max(axis=0)
        extent = float((high / 2 - low / 2).max())
        return cls(tuple(float(x) for x in low / 2 + high / 2), max(extent * room, 1e-6))

    def contains(self, other: "Box", at_least: float) -> bool:
        """Return whether `other` lies inside and has at least the fraction `at_least` of the side."""
        offset = max(abs(a - b) for a, b in zip(self.center, other.center, strict=True))
        return offset + other.scale <= self.scale and other.scale >= at_least * self.scale


@dataclass(frozen=True)
class Frame:
    """Quantized positions of `n` items in `box`; `id` is a hash of the bytes, so equal frames are one file.

    So many of them are `outside`, far from all others, and stand at the edge of the box.
    """

    n: int
    dims: int
    box: Box
    items: Items
    data: bytes = field(repr=False)
    outside: int = 0

    @classmethod
    def quantized(cls, coordinates: np.ndarray, items: Items, box: Box | None = None) -> Self:
        """Quantize positions (n × dims) in `box`, or in their bounding box."""
        box = box or Box.around(coordinates)
        n, dims = coordinates.shape
        away = np.abs(coordinates.astype(np.float64) - np.asarray(box.center)).max(axis=1) / box.scale
        outside = int((np.isfinite(away) & (away > 1 + 1 / INT16_MAX)).sum())
        return cls(n, dims, box, items, quantize(coordinates, box), outside)

    @property
    def id(self) -> str:
        """Hash of the bytes, 16 hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    def describe(self) -> FrameMeta:
        """Return everything but the bytes, as JSON types."""
        center, scale = list(self.box.center), self.box.scale
        meta = FrameMeta(id=self.id, n=self.n, dims=self.dims, center=center, scale=scale, items=self.items)
        if self.outside:
            meta["outside"] = self.outside
        return meta


def without_far(coordinates: np.ndarray) -> np.ndarray:
    """Return the finite points (n × dims, float64) without the few that are so far away that the others would coincide.

    They are at most 1% of the points, or one, and FAR times as far from the median as all others.
    """
    finite: np.ndarray = coordinates[np.isfinite(coordinates).all(axis=1)].astype(np.float64)
    few = max(1, len(finite) // 100)
    if len(finite) < few + 2:
        return finite
    away = np.abs(finite / 2 - np.median(finite / 2, axis=0)).max(axis=1)
    usual = np.partition(away, -few - 1)[-few - 1]
    return finite[away <= FAR * usual] if usual > 0 else finite


def quantize(coordinates: np.ndarray, box: Box) -> bytes:
    """Pack positions (n × dims) as little-endian int16: position = center + q / 32767 · scale; -32768 is missing."""
    inside = (coordinates.astype(np.float64) - np.asarray(box.center)) * (INT16_MAX / box.scale)
    missing = ~np.isfinite(inside).all(axis=1)
    inside[missing] = 0
    integers = np.clip(np.rint(inside), -INT16_MAX, INT16_MAX).astype("<i2")
    integers[missing] = MISSING
    data: bytes = integers.tobytes()
    return data


def dequantize(data: bytes, dims: int, box: Box) -> np.ndarray:
    """Invert `quantize`: positions (n × dims, float32), NaN for missing points."""
    integers = np.frombuffer(data, "<i2").reshape(-1, dims)
    positions = np.asarray(box.center) + integers / INT16_MAX * box.scale
    positions[(integers == MISSING).any(axis=1)] = np.nan
    return positions.astype(np.float32)


class LiveProjector:
    """Projects each snapshot on its own basis, rotated onto the previous frame so that points do not jump.

    Args:
        labels: Classes of the tracked images (n); without them, wide embeddings are projected by PCA.
    """

    def __init__(self, labels: np.ndarray | None = None) -> None:
        self.labels = labels
        self.basis: LinearProjection | None = None
        self.positions: np.ndarray | None = None
        self.bounds = HysteresisBounds()

    def frame(self, embeddings: np.ndarray) -> Frame:
        """Return the frame of the tracked embeddings (n × d); n and d must not change between calls."""
        basis = default_projection(embeddings, self.labels)
        if self.positions is not None:
            basis = basis.aligned_to(embeddings, self.positions)
        self.basis, self.positions = basis, basis.project(embeddings)
        return Frame.quantized(self.positions, "tracked", self.bounds.around(self.positions))


class HysteresisBounds:
    """A bounding box with hysteresis: it changes in few steps, so that a map scaled to it does not tremble."""

    def __init__(self, room: float = 1.15, at_least: float = 0.6) -> None:
        self.room = room
        self.at_least = at_least
        self.box: Box | None = None

    def around(self, coordinates: np.ndarray) -> Box:
        """Return the previous box while the points (n × dims) fit and fill enough of it, else a new one with margin."""
        if self.box is None or not self.box.contains(Box.around(coordinates), self.at_least):
            self.box = Box.around(coordinates, self.room)
        return self.box


def render_replay(
    basis: LinearProjection, snapshots: Iterable[tuple[int, np.ndarray]], last: tuple[int, np.ndarray]
) -> list[tuple[int, Frame]]:
    """Project all snapshots and the end on one basis and in one box.

    Args:
        basis: The linear projection.
        snapshots: (step, tracked embeddings) of each snapshot.
        last: (step, all test embeddings) at the end.

    Returns:
        (step, frame) of each.
    """
    maps: list[tuple[int, np.ndarray, Items]] = [(step, basis.project(x), "tracked") for step, x in snapshots]
    maps.append((last[0], basis.project(last[1]), "all"))
    box = Box.around_all([positions for _, positions, _ in maps], room=1.02)
    return [(step, Frame.quantized(positions, items, box)) for step, positions, items in maps]
