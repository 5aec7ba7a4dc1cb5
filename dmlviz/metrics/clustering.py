"""k-means clustering metrics: NMI, AMI and pairwise F1."""

import warnings

import numpy as np

from dmlviz.metrics.inputs import LabeledEmbeddings
from dmlviz.ops.squared_distances import rescale

KEYS = ("nmi", "ami", "pairwise_f1")


def scores(queries: LabeledEmbeddings, seed: int = 0) -> dict[str, float]:
    """Return NMI, AMI and pairwise F1 of k-means with as many clusters as classes.

    All are NaN for a single class, and when every image is a class of its own. NMI uses the arithmetic mean, as
    scikit-learn does.

    Reference:
        Manning, Raghavan, Schütze 2008, chapter 16 (pairwise F1).
    """
    if not 1 < len(queries.class_ids) < len(queries.points):
        return dict.fromkeys(KEYS, float("nan"))
    from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

    clusters = k_means(queries.points, len(queries.class_ids), seed)
    return {
        "nmi": float(normalized_mutual_info_score(queries.classes, clusters)),
        "ami": float(adjusted_mutual_info_score(queries.classes, clusters)),
        "pairwise_f1": pairwise_f1(queries.classes, clusters),
    }


def k_means(points: np.ndarray, clusters: int, seed: int = 0) -> np.ndarray:
    """Return the cluster (n) of each finite point (n × d): the best of three greedy k-means++ runs.

    There are fewer than `clusters` clusters if fewer points are distinct.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    points = rescale(points, points)[0].astype(points.dtype)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(KMeans(clusters, n_init=3, random_state=seed).fit(points).labels_)


def pairwise_f1(classes: np.ndarray, clusters: np.ndarray) -> float:
    """Return the F1 of "same cluster" as a prediction of "same class" over all pairs; 0 without a common pair.

    Example:
        >>> pairwise_f1(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
        1.0
    """
    table = np.zeros((classes.max() + 1, clusters.max() + 1))
    np.add.at(table, (classes, clusters), 1)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1)).sum() / 2)

    predicted, actual = pairs(table.sum(axis=0)), pairs(table.sum(axis=1))
    return 2 * pairs(table) / (predicted + actual) if predicted + actual else 0.0
