"""Sampling images through affine maps, many at once."""

import numpy as np
from scipy import ndimage


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
