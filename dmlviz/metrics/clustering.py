"""Whether plain clustering finds the classes again."""

import warnings

import numpy as np

from dmlviz.metrics.distances import conditioned
from dmlviz.metrics.inputs import Embedded

KEYS = ("nmi", "ami", "pairwise_f1")


def scores(queries: Embedded, seed: int = 0) -> dict[str, float]:
    """NMI, AMI and pairwise F1 of the classes against k-means with as many clusters as classes.

    NaN where there is nothing to find: one class, or every image its own. NMI with arithmetic normalisation, as in
    scikit-learn; pairwise F1 as in Manning, Raghavan, Schütze 2008, chapter 16.
    """
    if not 1 < len(queries.names) < len(queries.points):
        return dict.fromkeys(KEYS, float("nan"))
    from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

    clusters = k_means(queries.points, len(queries.names), seed)
    return {
        "nmi": float(normalized_mutual_info_score(queries.classes, clusters)),
        "ami": float(adjusted_mutual_info_score(queries.classes, clusters)),
        "pairwise_f1": pairwise_f1(queries.classes, clusters),
    }


def k_means(points: np.ndarray, clusters: int, seed: int = 0) -> np.ndarray:
    """The cluster of each finite point: best of three greedy k-means++ starts. Fewer where fewer points differ."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    points = conditioned(points, points)[0].astype(points.dtype)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(clusters, n_init=3, random_state=seed).fit(points).labels_


def pairwise_f1(classes: np.ndarray, clusters: np.ndarray) -> float:
    """F1 of "in one cluster" as a prediction of "in one class", over all pairs; 0 where no pair is in both."""
    table = np.zeros((classes.max() + 1, clusters.max() + 1))
    np.add.at(table, (classes, clusters), 1)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1)).sum() / 2)

    predicted, actual = pairs(table.sum(axis=0)), pairs(table.sum(axis=1))
    return 2 * pairs(table) / (predicted + actual) if predicted + actual else 0.0
