"""Writes umap_graph.npz, umap-learn's graphs of a few points, which test_umap_graph.py holds ours to.

Run by hand (`python tests/projection/write_umap_graph.py`): umap-learn compiles for half a minute, too long for a test.
"""

import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
NEIGHBORS = 10


def points() -> tuple[np.ndarray, np.ndarray]:
    """80 points in 5 dimensions with their classes; a few are duplicates, one group so large that it fills a row."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((80, 5)).astype(np.float32)
    x[10:13] = x[9]
    x[40:55] = x[39]
    return x, np.arange(80) % 3


def main() -> None:
    """Ask umap-learn for the graph, its supervised form and the curve's parameters."""
    warnings.simplefilter("ignore")
    from umap import umap_

    x, labels = points()
    distances = np.linalg.norm(x[:, None] - x[None], axis=2).astype(np.float32)
    distances[np.arange(80), np.arange(80)] = -1  # a point comes first among its duplicates
    order = np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBORS]
    near = np.maximum(np.take_along_axis(distances, order, axis=1), 0)
    random = np.random.RandomState(0)
    graph, _, _ = umap_.fuzzy_simplicial_set(x, NEIGHBORS, random, "euclidean", knn_indices=order, knn_dists=near)
    classes = umap_.discrete_metric_simplicial_set_intersection(graph.copy(), labels, far_dist=5.0)
    np.savez_compressed(
        HERE / "umap_graph.npz",
        points=x,
        labels=labels,
        order=order.astype(np.int32),
        distances=near,
        graph=graph.toarray(),
        supervised=classes.toarray(),
        curves=[(d, *umap_.find_ab_params(1.0, d)) for d in (0.0, 0.1, 0.5, 0.99)],
    )


if __name__ == "__main__":
    main()
