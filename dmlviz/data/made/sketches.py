"""`sketches`: photographs and a wobbly edge drawing of each: two domains, one thing."""

import numpy as np
from scipy import ndimage

from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made.pixels import enlarge, to_bytes

SEED = 0
TRAIN_PAIRS = 6_000
TEST_PAIRS = 2_000

WOBBLE = 2.0  # pixels: how far a line may leave its place
GRID = 5  # nodes a side of the grid of displacements
BLUR = 0.8  # pixels, before edges are looked for
THRESHOLD = 0.35  # of the strongest edge of the image
CHUNK = 1_000  # images that are drawn at once


def build(source: Dataset) -> tuple[Split, Split]:
    """Draw 6,000 training and 2,000 test images; fewer where the source has fewer."""
    rng = np.random.default_rng(SEED)
    train, test = enlarge(source)
    train_count, test_count = min(TRAIN_PAIRS, len(train)), min(TEST_PAIRS, len(test))
    return _pairs(train, train_count, 0, rng), _pairs(test, test_count, TRAIN_PAIRS, rng)


def draw_sketches(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the edges of images as an unsteady hand would draw them.

    Args:
        images: Photographs, uint8, n × size × size.
        rng: Source of the random numbers.

    Returns:
        Light lines on a dark ground, uint8, n × size × size.
    """
    n, size = images.shape[:2]
    smooth = ndimage.gaussian_filter(images.astype(np.float32), (0, BLUR, BLUR), truncate=3)
    edges = np.hypot(ndimage.sobel(smooth, 1), ndimage.sobel(smooth, 2))
    strongest = edges.max(axis=(1, 2), keepdims=True)
    lines = np.clip((edges / np.maximum(strongest, 1) - THRESHOLD) * 6, 0, 1)
    wobble = rng.uniform(-WOBBLE, WOBBLE, (2, n, GRID, GRID))
    between = _linear_weights(size)
    shift = np.einsum("ai,cnij,bj->cnab", between, wobble, between)
    rows, columns = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    index = np.broadcast_to(np.arange(n)[:, None, None], (n, size, size))
    pixels = ndimage.map_coordinates(
        lines, np.stack([index, rows + shift[0], columns + shift[1]]), output=np.float32, order=1
    )
    return to_bytes(255 * pixels)


def _linear_weights(size: int) -> np.ndarray:
    """Return size × GRID weights: the value at each pixel from those at the nodes."""
    places = np.linspace(0, GRID - 1, size)
    weights: np.ndarray = np.clip(1 - np.abs(places[:, None] - np.arange(GRID)), 0, 1)
    return weights


def _pairs(photographs: Split, count: int, first: int, rng: np.random.Generator) -> Split:
    rows = np.sort(rng.permutation(len(photographs))[:count])
    images = photographs.images[rows]
    sketches = [draw_sketches(images[start : start + CHUNK], rng) for start in range(0, count, CHUNK)]
    both = np.stack([images, np.concatenate(sketches)], 1).reshape(-1, *images.shape[1:])
    roles = {
        "domain": np.tile([0, 1], count),
        "garment": np.repeat(photographs.labels[rows], 2),
        "query": np.tile([0, 1], count),
    }
    return Split(both, np.repeat(np.arange(first, first + count), 2).astype(np.int64), roles)
