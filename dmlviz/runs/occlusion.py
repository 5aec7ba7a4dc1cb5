"""Why two images are near: their distance where a part of one of them is hidden (Zeiler and Fergus 2014)."""

from collections.abc import Callable

import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops.squared_distances import squared_differences

WINDOW, STRIDE = 0.2, 1 / 14  # of the side of an image
SLOW_STRIDE = 1 / 7  # for a net that is a backbone


def occlusion_maps(embed: Callable[[np.ndarray], np.ndarray], pair: np.ndarray, stride: float = STRIDE) -> np.ndarray:
    """Return how much farther apart two images are without each part of either.

    A square window moves over each image and shows what lies at its edge, the background. No gradients are needed.

    Args:
        embed: From images (n × h × w or n × h × w × 3, uint8) to embeddings (n × d).
        pair: The two images (2 × h × w or 2 × h × w × 3, uint8).
        stride: How far the window moves, in shares of the side.

    Returns:
        For each pixel of both images (2 × h × w, float64) the mean change of their Euclidean distance over the windows
        on it: positive where it holds the two together, negative where it holds them apart.

    Raises:
        UserError: If the net gives NaN or infinity.

    Examples:
        `occlusion_maps(lambda images: embed(run, images), images[[3, 7]])`
    """
    side = pair.shape[1]
    hidden, windows = [], []
    width, step = max(2, round(WINDOW * side)), max(1, round(stride * side))
    for which, image in enumerate(pair):
        background = _background(image)
        for top in range(1 - width, side, step):
            for left in range(1 - width, side, step):
                rows, columns = (slice(max(0, at), at + width) for at in (top, left))
                if (image[rows, columns] != background).any():  # else nothing would change
                    changed = image.copy()
                    changed[rows, columns] = background
                    hidden.append(changed)
                    windows.append((which, rows, columns))
    embeddings = embed(np.concatenate([pair, *([np.stack(hidden)] if hidden else [])])).astype(np.float64)
    if not np.isfinite(embeddings).all():
        raise UserError("The net gives NaN or infinity: its training diverged. Choose another run.")
    other = np.array([1, *(1 - which for which, _, _ in windows)], int)
    every = np.array([0, *range(2, len(embeddings))], int)
    distance, *apart = np.sqrt(squared_differences(embeddings, embeddings, every, other))
    sums, counts = np.zeros(pair.shape[:3]), np.zeros(pair.shape[:3])
    for (which, rows, columns), far in zip(windows, apart, strict=True):
        sums[which, rows, columns] += far - distance
        counts[which, rows, columns] += 1
    changes: np.ndarray = sums / np.maximum(counts, 1)
    return changes


def _background(image: np.ndarray) -> np.ndarray:
    """Return the median of the pixels at the edge of an image."""
    edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    background: np.ndarray = np.median(edge, axis=0).astype(np.uint8)
    return background
