"""UMAP's graph (McInnes, Healy, Melville 2018): how strongly each point belongs with its neighbours.

The formulas and tolerances are umap-learn's, whose result this equals; written over whole arrays, because that
package compiles itself for a minute before its first map.
"""

import numpy as np
from scipy.optimize import curve_fit
from scipy.sparse import csr_matrix

_HALVINGS = 64
_NARROWEST = 1e-3


def as_distances(squared: np.ndarray, metric: str) -> np.ndarray:
    """Distances as UMAP takes them: Euclidean, or 1 − cosine (half the squared chord)."""
    return squared / 2 if metric in ("cosine", "correlation") else np.sqrt(squared)


def memberships(distances: np.ndarray, mean_distance: float | None = None) -> np.ndarray:
    """exp(−(d − ρ)/σ) from distances to k − 1 neighbours (n × (k−1)), the point itself being the first of k.

    ρ is the distance to the nearest neighbour that is not a duplicate; σ makes a row sum to log2(k).
    """
    n, others = distances.shape
    d = distances.astype(np.float64)
    apart = np.where(d > 0, d, np.inf)
    nearest = apart.min(axis=1)
    nearest = np.where(np.isfinite(nearest), nearest, 0)
    beyond = np.maximum(d - nearest[:, None], 0)
    wanted = np.log2(others + 1)
    low, high, width = np.zeros(n), np.full(n, np.inf), np.ones(n)
    for _ in range(_HALVINGS):
        wide = np.exp(-beyond / width[:, None]).sum(axis=1) > wanted
        low, high = np.where(wide, low, width), np.where(wide, width, high)
        width = np.where(np.isinf(high), 2 * width, (low + high) / 2)
    mean = d.sum() / (n * (others + 1)) if mean_distance is None else mean_distance
    own_mean = d.sum(axis=1) / (others + 1)
    width = np.maximum(width, _NARROWEST * np.where(nearest > 0, own_mean, mean))
    return np.exp(-beyond / np.where(width > 0, width, 1)[:, None])


def graph(strengths: np.ndarray, neighbours: np.ndarray) -> csr_matrix:
    """The fuzzy union a + b − ab of both directions, from memberships and indices (n × (k−1))."""
    n, others = strengths.shape
    one_way = csr_matrix((strengths.ravel(), neighbours.ravel(), np.arange(0, n * others + 1, others)), shape=(n, n))
    return _union(one_way)


def supervised(edges: csr_matrix, labels: np.ndarray) -> csr_matrix:
    """The graph with edges between classes all but cut (e⁻⁵), as umap-learn weighs classes against distances."""
    pairs = edges.tocoo()
    weight = pairs.data * np.where(labels[pairs.row] == labels[pairs.col], 1.0, np.exp(-5.0))
    cut = csr_matrix((weight, (pairs.row, pairs.col)), shape=edges.shape)
    strongest = cut.max(axis=1).toarray().ravel()
    cut.data /= np.repeat(np.where(strongest > 0, strongest, 1), np.diff(cut.indptr))
    return _union(cut)


def curve(min_dist: float, spread: float = 1.0) -> tuple[float, float]:
    """a and b for which 1/(1 + a d^2b) falls like e^((min_dist − d)/spread) beyond min_dist."""
    d = np.linspace(0, 3 * spread, 300)
    wanted = np.where(d < min_dist, 1.0, np.exp((min_dist - d) / spread))
    (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), d, wanted)
    return float(a), float(b)


def _union(one_way: csr_matrix) -> csr_matrix:
    back = one_way.T.tocsr()
    both = (one_way + back - one_way.multiply(back)).tocsr()
    both.eliminate_zeros()
    return both
