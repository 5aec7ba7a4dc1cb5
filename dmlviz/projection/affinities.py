"""t-SNE's input affinities p(j|i) and p(i, j) (van der Maaten, Hinton 2008)."""

import numpy as np
from scipy.sparse import csr_matrix

_BLOCK_ROWS = 2048
_BISECTIONS = 60


def conditional_probabilities(squared: np.ndarray, perplexity: float) -> np.ndarray:
    """Return p(j|i) from squared distances of neighbors.

    Args:
        squared: Squared distances of the k nearest neighbors of each point, n × k.
        perplexity: Effective number of neighbors; each row gets the entropy log(perplexity).

    Returns:
        n × k; rows sum to 1.

    Examples:
        >>> conditional_probabilities(np.ones((1, 4)), 4).tolist()
        [[0.25, 0.25, 0.25, 0.25]]
    """
    blocks = [squared[start : start + _BLOCK_ROWS] for start in range(0, len(squared), _BLOCK_ROWS)]
    return np.concatenate([_block_probabilities(block, perplexity) for block in blocks])


def _block_probabilities(squared: np.ndarray, perplexity: float) -> np.ndarray:
    shifted = squared.astype(np.float64) - squared.min(axis=1, keepdims=True)
    size = shifted.mean(axis=1, keepdims=True)
    shifted /= np.where(size > 0, size, 1)
    precision = np.ones_like(size)
    low, high = np.zeros_like(size), np.full_like(size, np.inf)
    target = np.log(perplexity)
    for _ in range(_BISECTIONS):
        weight: np.ndarray = np.exp(-precision * shifted)
        total = weight.sum(axis=1, keepdims=True)
        entropy = np.log(total) + precision * (weight * shifted).sum(axis=1, keepdims=True) / total
        if (np.abs(entropy - target) < 1e-6).all():
            break
        too_wide = entropy > target
        low, high = np.where(too_wide, precision, low), np.where(too_wide, high, precision)
        precision = np.where(np.isinf(high), 2 * precision, (low + high) / 2)
    return np.asarray(weight / total)


def joint_probabilities(conditional: np.ndarray, neighbors: np.ndarray) -> csr_matrix:
    """Return the symmetric p(i, j), of sum 1, from p(j|i) and the neighbors' indices (both n × k)."""
    n, k = conditional.shape
    one_way = csr_matrix((conditional.ravel(), neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    other_way = one_way.T.tocsr()  # transposing sorts each row's indices, and sorted rows add up sooner
    both = other_way + other_way.T.tocsr()
    both.data /= both.data.sum()
    both.eliminate_zeros()  # too small for a number, so without a logarithm
    return both


def prune(affinities: csr_matrix, share: float) -> csr_matrix:
    """Return only the largest affinities that make up about `share` of the sum, rescaled to sum 1.

    At a perplexity of 30, nine tenths lie on a third of the pairs.
    """
    leading = affinities.data.astype(np.float32).view(np.int32) >> 12  # bits: what is equal in them needs no sorting
    least = np.searchsorted(np.cumsum(np.bincount(leading, affinities.data)), 1 - share, side="right")
    pruned = affinities.copy()
    pruned.data[leading < least] = 0
    pruned.eliminate_zeros()
    pruned.data /= pruned.data.sum()
    return pruned
