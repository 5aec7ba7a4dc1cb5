"""Principal component analysis: the flat map, of one epoch or of several together. Loads no torch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmlviz.errors import UserError

_BLOCK = 8192


@dataclass(frozen=True)
class Basis:
    """Directions to look along: mean (d), components (dims × d), and each one's share of the whole variance."""

    mean: np.ndarray
    components: np.ndarray
    explained: np.ndarray

    def transform(self, embeddings: np.ndarray) -> np.ndarray:
        """Positions (n × dims, float32) of embeddings (n × d)."""
        rows = np.asarray(embeddings, np.float32) - self.mean.astype(np.float32)
        return np.ascontiguousarray(rows @ self.components.T.astype(np.float32))


def fit(embeddings: np.ndarray, dims: int = 2, first: int = 1) -> Basis:
    """The components first … first + dims − 1 of embeddings (n × d), the widest being number 1.

    Each points to where its largest loading is positive, so that equal data give equal maps. Where there are fewer
    than d components the rest are zero.
    """
    return fit_jointly([embeddings], dims, first)


def fit_jointly(epochs: Sequence[np.ndarray], dims: int = 2, first: int = 1) -> Basis:
    """One basis for several epochs (each n × d, any float type), for maps that can be compared along a training."""
    if len(epochs) == 0 or len({np.shape(epoch)[1] for epoch in epochs}) > 1:
        raise UserError("A joint PCA takes one or more epochs of one embedding space; got none, or several dimensions.")
    d = epochs[0].shape[1]
    count = sum(len(epoch) for epoch in epochs)
    mean = sum(np.asarray(epoch).sum(axis=0, dtype=np.float64) for epoch in epochs) / count
    scatter = np.zeros((d, d))
    for epoch in epochs:
        for start in range(0, len(epoch), _BLOCK):
            rows = np.asarray(epoch[start : start + _BLOCK], np.float32) - mean.astype(np.float32)
            scatter += rows.T @ rows
    variances, directions = np.linalg.eigh(scatter)
    variances, directions = np.maximum(variances[::-1], 0), directions.T[::-1]
    chosen = slice(first - 1, first - 1 + dims)
    components, explained = np.zeros((dims, d)), np.zeros(dims)
    here = directions[chosen]
    components[: len(here)] = here * np.sign(np.take_along_axis(here, np.abs(here).argmax(axis=1)[:, None], axis=1))
    explained[: len(here)] = variances[chosen] / max(variances.sum(), np.finfo(np.float64).tiny)
    return Basis(mean, components, explained)
