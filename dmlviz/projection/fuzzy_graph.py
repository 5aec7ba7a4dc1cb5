"""UMAP's fuzzy neighbor graph (McInnes, Healy, Melville 2018).

The result equals umap-learn's. It is reimplemented on whole arrays because umap-learn compiles itself for a minute
before its first map.
"""

import numpy as np
from scipy.optimize import curve_fit
from scipy.sparse import csr_matrix

_BISECTIONS = 64
_MIN_SIGMA = 1e-3


def as_distances(squared: np.ndarray, metric: str) -> np.ndarray:
    """Return UMAP's distances: Euclidean, or 1 − cosine (half the squared distance of normalized vectors)."""
    return squared / 2 if metric in ("cosine", "correlation") else np.sqrt(squared)


def membership_strengths(distances: np.ndarray, mean_distance: float | None = None) -> np.ndarray:
    """Return the membership strengths exp(−(d − ρ)/σ) of neighbors.

    ρ is the distance to the nearest neighbor that is not a duplicate; σ makes each row sum to log2(k).

    Args:
        distances: Distances to the k − 1 nearest neighbors, n × (k − 1); the point itself counts as the first of k.
        mean_distance: Mean of all distances, from which the smallest σ follows; computed by default.

    Returns:
        n × (k − 1).
    """
    n, num_neighbors = distances.shape
    d = distances.astype(np.float64)
    nearest = np.where(d > 0, d, np.inf).min(axis=1)
    nearest = np.where(np.isfinite(nearest), nearest, 0)
    excess = np.maximum(d - nearest[:, None], 0)
    target = np.log2(num_neighbors + 1)
    low, high, sigma = np.zeros(n), np.full(n, np.inf), np.full(n, d.mean() or 1.0)
    for _ in range(_BISECTIONS):
        too_wide = np.exp(-excess / sigma[:, None]).sum(axis=1) > target
        low, high = np.where(too_wide, low, sigma), np.where(too_wide, sigma, high)
        sigma = np.where(np.isinf(high), 2 * sigma, (low + high) / 2)
    mean = d.sum() / (n * (num_neighbors + 1)) if mean_distance is None else mean_distance
    row_mean = d.sum(axis=1) / (num_neighbors + 1)
    sigma = np.maximum(sigma, _MIN_SIGMA * np.where(nearest > 0, row_mean, mean))
    strengths: np.ndarray = np.exp(-excess / np.where(sigma > 0, sigma, 1)[:, None])
    return strengths


def graph(strengths: np.ndarray, neighbors: np.ndarray) -> csr_matrix:
    """Return the fuzzy union a + b − ab of both directions, from strengths and indices of neighbors (n × (k − 1))."""
    n, others = strengths.shape
    one_way = csr_matrix((strengths.ravel(), neighbors.ravel(), np.arange(0, n * others + 1, others)), shape=(n, n))
    return _union(one_way)


def intersect_labels(edges: csr_matrix, labels: np.ndarray) -> csr_matrix:
    """Return the graph with edges between classes weakened to e⁻⁵, of unknown class (-1) to e⁻¹, as umap-learn."""
    pairs = edges.tocoo()
    own, other = labels[pairs.row], labels[pairs.col]
    same = np.where((own < 0) | (other < 0), np.exp(-1.0), own == other)
    weight = pairs.data * np.where(same > 0, same, np.exp(-5.0))
    cut = csr_matrix((weight, (pairs.row, pairs.col)), shape=edges.shape)
    strongest = cut.max(axis=1).toarray().ravel()
    cut.data /= np.repeat(np.where(strongest > 0, strongest, 1), np.diff(cut.indptr))
    return _union(cut)


def fit_ab(min_dist: float, spread: float = 1.0) -> tuple[float, float]:
    """Fit a and b so that 1/(1 + a d^2b) approximates e^((min_dist − d)/spread) beyond min_dist, and 1 below.

    Examples:
        >>> a, b = fit_ab(0.1)
        >>> round(a, 3), round(b, 3)
        (1.577, 0.895)
    """
    d = np.linspace(0, 3 * spread, 300)
    target = np.where(d < min_dist, 1.0, np.exp((min_dist - d) / spread))
    (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), d, target)
    return float(a), float(b)


def _union(one_way: csr_matrix) -> csr_matrix:
    back = one_way.T.tocsr()
    both = (one_way + back - one_way.multiply(back)).tocsr()
    both.eliminate_zeros()
    return both
