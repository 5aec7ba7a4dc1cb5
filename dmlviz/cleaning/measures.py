"""Measures of what may be wrong with labeled images, from their embeddings and pixels. No torch."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dmlviz.ops.nearest_neighbors import NearestNeighbors

CANDIDATES = 20  # nearest neighbors by embedding that are compared pixel by pixel
SMALLEST_CLASS = 3  # images, for labels to be compared with those of neighbors
NOBODY = -1  # no vote


@dataclass(frozen=True)
class Disagreement:
    """How the neighbors of each image contradict its label, over several embeddings.

    Attributes:
        share: the share of neighbors with another label (n, from 0 to 1); 0 for images that are not compared.
        suggestion: the most frequent other label among the neighbors (n), the smaller one of equals; the image's own
            label where no neighbor has another.
        support: the share of neighbors with that label (n).
        compared: whether the image's class has enough images for its label to be compared with its neighbors' (n).
    """

    share: np.ndarray = field(repr=False)
    suggestion: np.ndarray = field(repr=False)
    support: np.ndarray = field(repr=False)
    compared: np.ndarray = field(repr=False)


def label_disagreement(embeddings: Iterable[np.ndarray], labels: np.ndarray, k: int) -> Disagreement:
    """Count the labels of each image's nearest other images, in each of several embeddings of the same images.

    Of an image whose class has m images the min(k, m − 1) nearest are counted: in a perfect embedding they are the
    others of its class, however small that is. Images of classes of fewer than SMALLEST_CLASS are not compared: where
    one of two has a wrong label, nothing says which.

    Args:
        embeddings: embeddings (n × d each), for instance by the nets of a training.
        labels: class IDs (n).
        k: number of neighbors, below n.

    Reference:
        Wilson: Asymptotic properties of nearest neighbor rules using edited data, 1972; over a training as in
        Swayamdipta et al.: Dataset cartography, EMNLP 2020

    Example:
        >>> found = label_disagreement([np.array([[0.0], [1.0], [2.0], [9.0]])], np.array([0, 0, 1, 0]), k=2)
        >>> found.share.tolist(), found.compared.tolist()
        ([0.5, 0.5, 0.0, 0.5], [True, True, False, True])
    """
    classes, own, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    compared = sizes[own] >= SMALLEST_CLASS
    counted = np.arange(k) < np.where(compared, sizes[own] - 1, 0)[:, None]
    near = [np.where(counted, own[NearestNeighbors(points).others(k)[1]], NOBODY) for points in embeddings]
    votes = np.concatenate(near, axis=1)
    total = np.maximum(1, (votes != NOBODY).sum(axis=1))
    agree = (votes == own[:, None]).sum(axis=1)
    suggestion, most = _most_frequent(np.where(votes == own[:, None], NOBODY, votes))
    other = np.where(most > 0, suggestion, own)
    return Disagreement(np.where(compared, 1 - agree / total, 0), classes[other], most / total, compared)


def _most_frequent(votes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the most frequent value of each row but NOBODY, the smaller one of equals, and how often it is there."""
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
        disagreement: their disagreement.
        least: the least share of neighbors with another label.

    Returns:
        Indices, those first whose neighbors agree most on one other label, then by index.
    """
    share, support = disagreement.share, disagreement.support
    rows = np.flatnonzero((share >= least) & (support > 1 - share) & disagreement.compared)
    return rows[np.lexsort((rows, -share[rows], -support[rows]))]


def outlier_ratios(embeddings: np.ndarray, k: int) -> np.ndarray:
    """Return how far the k nearest others of each image are on average, by the median image's (n).

    Reference:
        Ramaswamy, Rastogi, Shim: Efficient algorithms for mining outliers from large data sets, SIGMOD 2000
    """
    distances, _ = NearestNeighbors(embeddings).others(k)
    mean = distances.mean(axis=1)
    middle = float(np.median(mean))
    return np.asarray(mean / middle if middle > 0 else np.where(mean > 0, np.inf, 1.0))


def near_duplicates(images: np.ndarray, embeddings: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Find pairs of images whose pixels are nearly the same.

    Pixels are compared among the CANDIDATES nearest by embedding: equal images have equal embeddings.

    Args:
        images: uint8 images (n × h × w or n × h × w × 3).
        embeddings: their embeddings (n × d).
        threshold: the largest root mean square difference of their pixels, scaled to [0, 1].

    Returns:
        Pairs of indices (m × 2, ascending in a pair), the most alike first, and their differences (m).
    """
    _, near = NearestNeighbors(embeddings).others(min(CANDIDATES, len(images) - 1))
    first = np.repeat(np.arange(len(images)), near.shape[1])
    pairs = np.unique(np.sort(np.stack([first, near.reshape(-1)], axis=1), axis=1), axis=0)
    return _alike(images, images, pairs, threshold)


def leaks(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Find test images that are nearly the same as a training image.

    Args:
        train: training images (uint8) and their embeddings (n × d).
        test: test images and their embeddings.
        threshold: see `near_duplicates`.

    Returns:
        Pairs (m × 2) of a training image and a test image, the most alike first, and their differences (m).
    """
    _, near = NearestNeighbors(train[1]).search(test[1], min(CANDIDATES, len(train[0])))
    second = np.repeat(np.arange(len(test[0])), near.shape[1])
    return _alike(train[0], test[0], np.stack([near.reshape(-1), second], axis=1), threshold)


def _alike(left: np.ndarray, right: np.ndarray, pairs: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    differences = np.empty(len(pairs))
    for start in range(0, len(pairs), 4096):
        part = pairs[start : start + 4096]
        a, b = left[part[:, 0]].astype(np.float32), right[part[:, 1]].astype(np.float32)
        squares = np.square((a - b) / 255).reshape(len(part), -1)
        differences[start : start + 4096] = np.sqrt(squares.mean(axis=1))
    chosen = np.flatnonzero(differences <= threshold)
    chosen = chosen[np.lexsort((pairs[chosen, 1], pairs[chosen, 0], differences[chosen]))]
    return pairs[chosen], differences[chosen]
