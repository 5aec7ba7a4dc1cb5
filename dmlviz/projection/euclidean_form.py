"""The coordinates in which a metric becomes Euclidean. No torch."""

import numpy as np

from dmlviz.ops.precision import narrowed


def prepare(embeddings: np.ndarray, metric: str, center: np.ndarray | None = None) -> np.ndarray:
    """Transform embeddings so that Euclidean distance ranks neighbors as `metric` does.

    "euclidean" centers them, which keeps distances exact. "cosine" normalizes them: half the squared distance is then
    1 − cosine. "correlation" is the cosine after subtracting each row's mean. Other metrics (see other_metrics.py)
    leave them unchanged.

    Args:
        embeddings: Embeddings (n × d), float32 or float64; rounded to float32 afterwards where that holds them.
        metric: Name of the metric.
        center: Center for "euclidean" (d); the mean by default.
    """
    if metric == "euclidean":
        return narrowed(embeddings - (mean_vector(embeddings) if center is None else center))
    return narrowed(comparable(embeddings, metric).astype(embeddings.dtype, copy=False))


def comparable(embeddings: np.ndarray, metric: str) -> np.ndarray:
    """Normalize embeddings (n × d) for "cosine" or "correlation", in float64; unchanged for other metrics.

    A zero vector stays zero.
    """
    if metric not in ("cosine", "correlation"):
        return embeddings
    embeddings = embeddings.astype(np.float64)
    if metric == "correlation":
        embeddings = embeddings - embeddings.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings / np.where(norms > 0, norms, 1)


def mean_vector(embeddings: np.ndarray) -> np.ndarray:
    """Return the mean (d, of the type of the embeddings), summed in float64."""
    return np.asarray(embeddings.mean(axis=0, dtype=np.float64), embeddings.dtype)
