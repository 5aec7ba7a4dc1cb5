"""The score of each image for each class, by the weights that a loss has learned or by the batch itself.

Each function takes the batch's embeddings (n × d) and labels (n), the classes in order, the loss's parameters and its
learned weights, and returns scores (n × classes), before any margin.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dmlviz.ops.pairwise_numpy import distances

Params = Mapping[str, Any]
Weights = Mapping[str, np.ndarray]


def by_weight(
    x: np.ndarray, labels: np.ndarray, classes: Sequence[int], params: Params, weights: Weights
) -> np.ndarray:
    """Return the inner product with the weight of each class plus its bias; the cosine for a loss without a bias."""
    if "bias" in weights:
        scores: np.ndarray = x @ weights["weight"].T + weights["bias"]
        return scores
    return 1 - distances(x, "cosine", weights["weight"])


def scaled_cosine(
    x: np.ndarray, labels: np.ndarray, classes: Sequence[int], params: Params, weights: Weights
) -> np.ndarray:
    """Return the cosine with the weight of each class, times the weight's length."""
    scores: np.ndarray = by_weight(x, labels, classes, params, weights) * np.linalg.norm(weights["weight"], axis=1)
    return scores


def nearest_center(
    x: np.ndarray, labels: np.ndarray, classes: Sequence[int], params: Params, weights: Weights
) -> np.ndarray:
    """Return the cosine with the nearest of the `centers` of each class."""
    scores: np.ndarray = (
        by_weight(x, labels, classes, params, weights).reshape(len(x), -1, params["centers"]).max(axis=2)
    )
    return scores


def soft_nearest_center(
    x: np.ndarray, labels: np.ndarray, classes: Sequence[int], params: Params, weights: Weights
) -> np.ndarray:
    """Return the mean cosine with the `centers` of each class, weighted by a softmax of temperature `gamma`."""
    all_centers = by_weight(x, labels, classes, params, weights).reshape(len(x), -1, params["centers"])
    share = np.exp((all_centers - 1) / params["gamma"])
    scores: np.ndarray = (share * all_centers).sum(axis=2) / share.sum(axis=2)
    return scores


def nearest_prototype(
    x: np.ndarray, labels: np.ndarray, classes: Sequence[int], params: Params, weights: Weights
) -> np.ndarray:
    """Return minus the distance to the prototype of each class; −∞ for a class that the batch does not hold."""
    scores = np.full((len(labels), len(classes)), -np.inf)
    for label, center in prototypes(x, labels, params["support"]):
        scores[:, np.searchsorted(classes, label)] = -distances(x, params["distance"], center[None])[:, 0]
    return scores


def prototypes(x: np.ndarray, labels: np.ndarray, support: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each class of the batch with the mean of its first `support` images, of all if None.

    At least one image of each class is left to be a query.
    """
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        count = len(members) if support is None else max(1, min(support, len(members) - 1))
        yield int(label), x[members[:count]].mean(axis=0)
