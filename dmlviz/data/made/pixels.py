"""Arithmetic on images that gives the same bytes on every machine."""

import numpy as np
from scipy import ndimage

from dmlviz.data.dataset import Dataset, Split

SIZE = 28  # pixels a side, of the images that data sets are made from
TIE = 1e-6  # added before rounding, so that a tie does not depend on the last bit of a sum


def to_bytes(images: np.ndarray) -> np.ndarray:
    """Round to uint8, values out of range to the nearest end."""
    pixels: np.ndarray = np.floor(np.clip(images, 0, 255) + (0.5 + TIE)).astype(np.uint8)
    return pixels


def enlarge(data: Dataset, size: int = SIZE) -> tuple[Split, Split]:
    """Return training and test images as `size` × `size`; smaller ones are enlarged by linear interpolation."""
    return tuple(_enlarge(split, size) for split in (data.train, data.test))  # type: ignore[return-value]


def _enlarge(split: Split, size: int) -> Split:
    side = split.images.shape[1]
    if side == size:
        return split
    # Pixel centers of the large image, in pixels of the small one: whole numbers divided once.
    centers = (2 * np.arange(size) + 1) * side / (2 * size) - 0.5
    rows, columns = np.meshgrid(centers, centers, indexing="ij")
    images = np.empty((len(split), size, size), np.uint8)
    for number, image in enumerate(split.images):
        pixels = ndimage.map_coordinates(image.astype(float), [rows, columns], order=1, mode="nearest")
        images[number] = to_bytes(pixels)
    return Split(images, split.labels)


def noise(shape: tuple[int, ...], deviation: float, rng: np.random.Generator) -> np.ndarray:
    """Return nearly normal noise: the sum of four uniform whole numbers, whose bits do not depend on the machine.

    Args:
        shape: Shape of the result.
        deviation: Standard deviation.
        rng: Source of the random numbers.
    """
    total = np.zeros(shape, np.int16)
    for _ in range(4):
        total += rng.integers(0, 256, shape, dtype=np.uint8)
    return (total - 510.0) * (deviation / 147.8)  # 147.8² = 4 · (256² − 1) / 12


def affine_matrices(turn: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the matrices that turn an offset (rows, columns) and scale it.

    Args:
        turn: Angles in degrees (n).
        scale: Factors (n); 2 makes an offset twice as long.

    Returns:
        n × 2 × 2.
    """
    angle = np.deg2rad(turn)
    cos, sin = np.cos(angle) * scale, np.sin(angle) * scale
    return np.stack([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)], 1)


def offsets(size: int) -> np.ndarray:
    """Return the offsets of the pixels of a square from its middle, 2 × size² (rows, columns)."""
    places = np.arange(size) - (size - 1) / 2
    return np.stack([grid.ravel() for grid in np.meshgrid(places, places, indexing="ij")])


def sample(
    images: np.ndarray, index: np.ndarray, centers: np.ndarray, matrices: np.ndarray, size: int, outside: float = 0.0
) -> np.ndarray:
    """Sample squares from images, by linear interpolation.

    Args:
        images: Images, k × h × w.
        index: Index of the image of each square, n.
        centers: Center of each square (row, column), n × 2.
        matrices: From offsets in the square to offsets in the image, n × 2 × 2.
        size: Side of the squares in pixels.
        outside: Value beyond the edges of the image.

    Returns:
        Squares, n × size × size, float32.
    """
    places = np.einsum("nij,jp->nip", matrices, offsets(size)) + centers[:, :, None]  # n × 2 × size²
    first = np.broadcast_to(index[:, None], places[:, 0].shape)
    values = ndimage.map_coordinates(
        images,
        np.stack([first, places[:, 0], places[:, 1]]),
        output=np.float32,
        order=1,
        mode="constant",
        cval=outside,
    )
    return np.asarray(values).reshape(len(index), size, size)
