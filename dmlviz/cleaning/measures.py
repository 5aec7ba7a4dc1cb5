"""Measures of possible faults in labeled images, from their neighbors and pixels. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

SMALLEST_CLASS = 3  # images, for labels to be compared with those of neighbors
NOBODY = -1  # no vote
_IMAGES_AT_A_TIME = 512
_PAIRS_AT_A_TIME = 2_048
PARTS = 32  # of a picture, whose sums are compared before its pixels


@dataclass(frozen=True)
class Disagreement:
    """The disagreement of each image's neighbors with its label, over several nets.

    Attributes:
        share: The share of neighbors with another label (n, from 0 to 1); 0 for images that are not compared.
        suggestion: The most frequent other label among the neighbors (n), the smaller one of equals; the image's own
            label where no neighbor has another.
        support: The share of neighbors with that label (n).
        compared: Whether the image's class has enough images for its label to be compared with its neighbors' (n).
    """

    share: np.ndarray = field(repr=False)
    suggestion: np.ndarray = field(repr=False)
    support: np.ndarray = field(repr=False)
    compared: np.ndarray = field(repr=False)


def label_disagreement(neighbors: Sequence[np.ndarray], labels: np.ndarray) -> Disagreement:
    """Count the labels of each image's nearest other images, as each of several nets sees them.

    Of an image whose class has m images the min(k, m − 1) nearest are counted: in a perfect embedding they are the
    others of its class, however small that is. Images of classes of fewer than SMALLEST_CLASS are not compared: where
    one of two has a wrong label, nothing says which.

    Args:
        neighbors: Indices of the k nearest others of each image (n × k each), nearest first, by each net.
        labels: Class IDs (n).

    Reference:
        Wilson: Asymptotic properties of nearest neighbor rules using edited data, 1972; over a training as in
        Swayamdipta et al.: Dataset cartography, EMNLP 2020

    Examples:
        >>> found = label_disagreement([np.array([[1, 2], [0, 2], [1, 0], [2, 1]])], np.array([0, 0, 1, 0]))
        >>> found.share.tolist(), found.compared.tolist()
        ([0.5, 0.5, 0.0, 0.5], [True, True, False, True])
    """
    classes, own, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    compared = sizes[own] >= SMALLEST_CLASS
    counted = np.arange(neighbors[0].shape[1]) < np.where(compared, sizes[own] - 1, 0)[:, None]
    votes = np.concatenate([np.where(counted, own[near], NOBODY) for near in neighbors], axis=1)
    total = np.maximum(1, (votes != NOBODY).sum(axis=1))
    agree = (votes == own[:, None]).sum(axis=1)
    suggestion, most = _most_frequent(np.where(votes == own[:, None], NOBODY, votes))
    other = np.where(most > 0, suggestion, own)
    return Disagreement(np.where(compared, 1 - agree / total, 0), classes[other], most / total, compared)


def _most_frequent(votes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the most frequent value of each row except NOBODY, the smallest of equals, and its count."""
    ordered, columns = np.sort(votes, axis=1), np.arange(votes.shape[1])
    begins = np.diff(ordered, axis=1, prepend=NOBODY) != 0
    lengths = columns - np.maximum.accumulate(np.where(begins, columns, 0), axis=1) + 1
    lengths[ordered == NOBODY] = 0
    best = lengths.argmax(axis=1)[:, None]
    return np.take_along_axis(ordered, best, axis=1)[:, 0], np.take_along_axis(lengths, best, axis=1)[:, 0]


def suspects(disagreement: Disagreement, least: float = 0.5) -> np.ndarray:
    """Return the images that at least this share of their neighbors contradicts, most of them by one other label.

    Of the neighbors, more carry that label than the image's own.

    Args:
        disagreement: Their disagreement.
        least: The least share of neighbors with another label.

    Returns:
        Indices, those first of whose neighbors the fewest carry their label, then by the support of the other one.
    """
    share, support = disagreement.share, disagreement.support
    rows = np.flatnonzero((share >= least) & (support > 1 - share) & disagreement.compared)
    return rows[np.lexsort((rows, -support[rows], -share[rows]))]


def outlier_ratios(distances: np.ndarray) -> np.ndarray:
    """Return how far the nearest others of each image are on average, by the median image's (n).

    Args:
        distances: From each image to its k nearest others (n × k).

    Reference:
        Ramaswamy, Rastogi, Shim: Efficient algorithms for mining outliers from large data sets, SIGMOD 2000
    """
    mean = distances.mean(axis=1)
    middle = float(np.median(mean))
    return np.asarray(mean / middle if middle > 0 else np.where(mean > 0, np.inf, 1.0))


def outliers(ratios: np.ndarray, least: float, share: float) -> np.ndarray:
    """Return the images with the largest ratios, the largest first, then by index.

    Args:
        ratios: As `outlier_ratios` (n).
        least: The least ratio.
        share: The largest share of all images; one image may be an outlier however few there are.
    """
    order = np.argsort(-ratios, kind="stable")[: max(1, int(share * len(ratios)))]
    return order[ratios[order] >= least]


def near_duplicates(images: np.ndarray, neighbors: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Find pairs of images whose pixels are nearly the same, among neighbors: equal images have equal embeddings.

    Args:
        images: uint8 images (n × h × w or n × h × w × 3).
        neighbors: Indices of nearest others of each (n × k).
        threshold: The largest root mean square difference of their pixels, scaled to [0, 1].

    Returns:
        Pairs of indices (m × 2, ascending in a pair), the most alike first, and their differences (m).
    """
    return _alike(images, images, _pairs(neighbors), threshold)


def vector_duplicates(
    points: np.ndarray, neighbors: np.ndarray, distances: np.ndarray, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Find pairs of vectors that are nearly the same, among neighbors.

    Args:
        points: Vectors (n × d).
        neighbors: Indices of nearest others of each (n × k).
        distances: To these (n × k).
        threshold: The largest distance, as a share of the median vector's to its nearest others.

    Returns:
        Pairs of indices (m × 2, ascending in a pair), the most alike first, and their distances as such shares (m);
        0 for equal vectors only.
    """
    usual = float(np.median(distances.mean(axis=1))) or 1.0
    pairs = _pairs(np.where(distances <= 2 * threshold * usual, neighbors, np.arange(len(points))[:, None]))
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    apart = np.subtract(points[pairs[:, 0]], points[pairs[:, 1]], dtype=np.float64)
    shares = np.linalg.norm(apart, axis=1) / usual
    order = np.lexsort((pairs[:, 1], pairs[:, 0], shares))
    order = order[shares[order] <= threshold]
    return pairs[order], shares[order]


def _pairs(neighbors: np.ndarray) -> np.ndarray:
    """Return each pair of neighbors once (m × 2, ascending in a pair)."""
    n = len(neighbors)
    first, second = np.repeat(np.arange(n), neighbors.shape[1]), neighbors.reshape(-1).astype(np.int64)
    pairs = np.sort(np.minimum(first, second) * n + np.maximum(first, second))
    once = pairs[np.diff(pairs, prepend=-1) > 0]  # np.unique takes ten times as long
    return np.stack(np.divmod(once, n), axis=1)


def leaks(
    train: np.ndarray, test: np.ndarray, neighbors: np.ndarray, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Find test images that are nearly the same as a training image.

    Args:
        train: Training images (uint8).
        test: Test images.
        neighbors: Indices of the nearest training images of each test image (m × k); -1 for none.
        threshold: See `near_duplicates`.

    Returns:
        Pairs (p × 2) of a training image and a test image, the most alike first, and their differences (p).
    """
    pairs = np.stack([neighbors.reshape(-1), np.repeat(np.arange(len(test)), neighbors.shape[1])], axis=1)
    return _alike(train, test, pairs[pairs[:, 0] >= 0], threshold)


def _alike(left: np.ndarray, right: np.ndarray, pairs: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Compare pixels of those pairs only whose sums over parts of the picture differ little enough."""
    of_left = _sums_of_parts(left)
    of_right = of_left if right is left else _sums_of_parts(right)
    chosen = [np.empty((0, 2), np.int64)]
    differences = [np.empty(0)]
    most = threshold**2 * left[0].size * 255**2
    for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
        part = pairs[start : start + _PAIRS_AT_A_TIME]
        rough = np.square(of_left[part[:, 0]] - of_right[part[:, 1]]).sum(axis=1)  # at most the sum over pixels
        part = part[rough <= most * 1.001]
        pixels = np.subtract(left[part[:, 0]], right[part[:, 1]], dtype=np.float32).reshape(len(part), left[0].size)
        difference = np.sqrt(np.einsum("np,np->n", pixels, pixels) / left[0].size) / 255
        chosen.append(part[difference <= threshold])
        differences.append(difference[difference <= threshold])
    found, by = np.concatenate(chosen), np.concatenate(differences)
    order = np.lexsort((found[:, 1], found[:, 0], by))
    return found[order], by[order]


def _sums_of_parts(images: np.ndarray) -> np.ndarray:
    """Return the sums of up to PARTS runs of pixels, each by the root of its length (n × PARTS)."""
    flat = images.reshape(len(images), -1)
    starts = np.unique(np.linspace(0, flat.shape[1], PARTS, endpoint=False).astype(int))
    lengths = np.diff(starts, append=flat.shape[1])
    weights = np.repeat(np.diag(1 / np.sqrt(lengths)), lengths, axis=0).astype(np.float32)
    sums = np.empty((len(flat), len(starts)), np.float32)
    for at in range(0, len(flat), _IMAGES_AT_A_TIME):  # a product takes a tenth of the time of np.add.reduceat
        sums[at : at + _IMAGES_AT_A_TIME] = flat[at : at + _IMAGES_AT_A_TIME].astype(np.float32) @ weights
    return sums
