"""k-means: seeds by greedy k-means++, and then Lloyd's iterations by FAISS."""

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from dmlviz.ops.squared_distances import rescale

RESTARTS = 3
MAX_ITERATIONS = 300


def k_means(points: np.ndarray, clusters: int, seed: int = 0) -> np.ndarray:
    """Return the cluster of each point: the best of three runs.

    Seeds that lie well matter most: with FAISS's own, plain k-means++, 751 classes of 8 points get an NMI of 0.950
    instead of 0.975. scikit-learn has the same seeds, but its import takes two seconds of every process that trains.

    Args:
        points: Finite vectors (n × d).
        clusters: Number of clusters; there are fewer if fewer points are distinct.
        seed: Of the random choices.

    Returns:
        Numbers from 0 on (n).

    Reference:
        Arthur and Vassilvitskii 2007 (k-means++), section 7 (greedy choice among several candidates).
    """
    points = np.ascontiguousarray(rescale(points, points)[0], np.float32)
    rng = np.random.default_rng(seed)
    with threadpool_limits(1):  # the calls are many and small
        runs = [_lloyd(points, _seeds(points, clusters, rng)) for _ in range(RESTARTS)]
    return min(runs, key=lambda run: run[0])[1]


def _seeds(points: np.ndarray, clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct points: each the best of a few, drawn in proportion to their squared distance from the others."""
    squares = np.einsum("nd,nd->n", points, points)
    candidates = 2 + int(np.log(clusters))
    chosen = [int(rng.integers(len(points)))]
    nearest = np.maximum(squares - 2 * points @ points[chosen[0]] + squares[chosen[0]], 0)
    for _ in range(clusters - 1):
        nearest[chosen[-1]] = 0
        weights = np.cumsum(nearest, dtype=np.float64)
        if weights[-1] == 0:  # every point is a seed, or equals one
            break
        drawn = np.searchsorted(weights, rng.random(candidates) * weights[-1], side="right")
        distances = squares - 2 * points[drawn] @ points.T + squares[drawn, None]
        distances = np.minimum(np.maximum(distances, 0), nearest)
        best = int(distances.sum(axis=1).argmin())
        chosen.append(int(drawn[best]))
        nearest = distances[best]
    return points[chosen]


def _lloyd(points: np.ndarray, seeds: np.ndarray) -> tuple[float, np.ndarray]:
    """Move the centers until nothing changes; return the sum of squared distances and each point's cluster (n)."""
    n, d = points.shape
    centers = faiss.Kmeans(
        d, len(seeds), niter=MAX_ITERATIONS, min_points_per_centroid=1, max_points_per_centroid=n
    )  # all points, without a warning about few
    centers.train(points, init_centroids=seeds)
    distances, clusters = centers.index.search(points, 1)
    return float(distances.sum()), clusters[:, 0]
