"""Out-of-sample projection: places new points on an existing map, which stays fixed. No torch."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dmlviz.catalog.parameters import Registry
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection.affinities import conditional_probabilities
from dmlviz.projection.euclidean_form import euclidean_after_all, mean_vector, near, prepare
from dmlviz.projection.fuzzy_graph import as_distances, fit_ab, membership_strengths
from dmlviz.projection.validation import check_embeddings

# Surrounding positions (m × k × dims), and how many points each stands for (m × k).
NearAndFar = tuple[np.ndarray, np.ndarray]
# objective(positions m × dims, rows, surroundings): loss (m) and gradient (m × dims) of the new points `rows` (m).
Objective = Callable[[np.ndarray, np.ndarray, NearAndFar], tuple[np.ndarray, np.ndarray]]

_DUPLICATE_EPS = 1e-5
NUM_STARTS = 15  # neighbors on a map
_STEPS = 60
_BLOCK_ROWS, _TRIED_ROWS = 64, 4
_EPS = 1e-3
REACH = 10.0  # of LocalMAP: how far on the map a further point that is drawn anew may be


def place_on(config: ProjectionConfig, embeddings: Any, coordinates: Any, new: Any, quick: bool = False) -> np.ndarray:
    """Place new embeddings on an existing map.

    Linear maps place them exactly. t-SNE and UMAP minimize their own loss for each new point, with all others fixed. On
    the map of a plug-in a new point lies between its nearest neighbors. The result is deterministic, and a duplicate of
    a point of the map gets that point's position.

    Args:
        config: Settings of the map.
        embeddings: Embeddings of the map, n × d.
        coordinates: Positions of the map, n × dims.
        new: New embeddings, m × d.
        quick: On a t-SNE or UMAP, too, place them between their nearest neighbors.

    Returns:
        Positions of the new points, m × dims, float32.

    Raises:
        UserError: For embeddings of another dimension, or that are not finite.

    Examples:
        >>> points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
        >>> place_on(ProjectionConfig(method="pca"), points, points - points.mean(axis=0), [[2.0, 0.5]]).round(3)
        array([[1., 0.]], dtype=float32)
    """
    return Placement(config, embeddings, coordinates).place(new, quick)


class Placement:
    """Places new points on a map as `place_on`, with its arguments; what follows from the map alone is done once."""

    def __init__(self, config: ProjectionConfig, embeddings: Any, coordinates: Any) -> None:
        high_dim, self.low_dim = check_embeddings(embeddings), check_embeddings(coordinates, "Coordinates")
        if len(high_dim) != len(self.low_dim):
            raise UserError(
                f"A map has one position for each embedding; got {len(self.low_dim):,} positions for "
                f"{len(high_dim):,} embeddings."
            )
        self._config, self._dimension = config, high_dim.shape[1]
        self._metric = config.params.get("metric", "euclidean")
        if config.declared.linear:
            self._map = _linear(high_dim, self.low_dim)
            return
        self._center = mean_vector(high_dim)
        self._points = prepare(high_dim, self._metric, self._center)
        self._search = EuclideanSearch(self._points) if euclidean_after_all(self._metric) else None
        self._size = np.sqrt(np.square(self._points).sum(axis=1).max())

    @cached_property
    def summary(self) -> "FarFieldSummary":
        """The map as a summary."""
        return FarFieldSummary(self.low_dim)

    def place(self, new: Any, quick: bool = False, known: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
        """Return the positions of new embeddings; see `place_on`.

        `known` are the squared Euclidean distances and the indices of the nearest embeddings of each, nearest first, if
        they have been searched already.
        """
        new_points = alike(new, self._dimension)
        if self._config.declared.linear:
            mean, matrix, low_mean = self._map
            return np.asarray((new_points - mean) @ matrix + low_mean, np.float32)
        new_points = prepare(new_points, self._metric, self._center).astype(self._points.dtype)
        model: Model = (_NeighborMean if quick else MODELS.get(self._config.method, _NeighborMean))(self._config.params)
        k = min(model.num_neighbors, len(self._points))
        if known is not None and self._metric == "euclidean" and known[0].shape[1] >= k:
            squared, neighbors = known[0][:, :k], known[1][:, :k]
        else:
            squared, neighbors = near(new_points, self._points, k, self._metric, self._search)
        positions = model.positions(self, neighbors, squared, self._metric)
        is_duplicate = squared[:, 0] <= (_DUPLICATE_EPS * self._size) ** 2
        positions[is_duplicate] = self.low_dim[neighbors[is_duplicate, 0]]
        return positions


def alike(new: Any, dimension: int) -> np.ndarray:
    """Return new embeddings (m × d); raise UserError unless d is the dimension of the map's embeddings."""
    points = check_embeddings(new, "New embeddings")
    if points.shape[1] != dimension:
        raise UserError(
            f"New points lie in the map's space of {dimension} dimensions; got {points.shape[1]}: "
            "embed them with the same net."
        )
    return points


class Model(Protocol):
    """A nonlinear projection's placement of new points, with these parameters of the map."""

    num_neighbors: int

    def __init__(self, params: Mapping[str, Any]) -> None: ...

    def positions(self, on: Placement, neighbors: np.ndarray, squared: np.ndarray, metric: str) -> np.ndarray:
        """Return positions (m × dims) from the map and each point's neighbors on it (m × k)."""


MODELS: Registry = Registry(PROJECTIONS)


@MODELS.register("tsne")
class _TSNE:
    """The position of least t-SNE loss."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._perplexity = params["perplexity"]
        self.num_neighbors = int(3 * params["perplexity"])

    def positions(self, on: Placement, neighbors: np.ndarray, squared: np.ndarray, metric: str) -> np.ndarray:
        p = conditional_probabilities(squared, min(self._perplexity, squared.shape[1] / 2))
        return _minimize(_tsne_objective(on.low_dim, neighbors, p), on, neighbors)


@MODELS.register("umap")
class _UMAP:
    """The position of least UMAP loss."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._curve = fit_ab(params["min_dist"], params.get("spread", 1.0))
        self.num_neighbors = params["neighbors"]

    def positions(self, on: Placement, neighbors: np.ndarray, squared: np.ndarray, metric: str) -> np.ndarray:
        strengths = membership_strengths(as_distances(squared, metric))
        return _minimize(_umap_objective(on.low_dim, neighbors, strengths, *self._curve), on, neighbors)


@MODELS.register("pacmap")
class _PaCMAP:
    """The position of least PaCMAP loss in its last phase."""

    is_local = False

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.num_neighbors = params["neighbors"]
        self._further = params["neighbors"] * params["further_ratio"]

    def positions(self, on: Placement, neighbors: np.ndarray, squared: np.ndarray, metric: str) -> np.ndarray:
        return _minimize(_pacmap_objective(on.low_dim, neighbors, self._further, self.is_local), on, neighbors)


@MODELS.register("localmap")
class _LocalMAP(_PaCMAP):
    """The position of least LocalMAP loss in its last phase."""

    is_local = True


class _NeighborMean:
    """The mean of the nearest neighbors' positions, nearer ones counting more: for a projection without a model."""

    num_neighbors = NUM_STARTS

    def __init__(self, params: Mapping[str, Any]) -> None:
        pass

    def positions(self, on: Placement, neighbors: np.ndarray, squared: np.ndarray, metric: str) -> np.ndarray:
        weights = 1 / np.sqrt(np.maximum(squared, 1e-12))
        weights /= weights.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("mk,mkd->md", weights, on.low_dim[neighbors]), np.float32)


def _linear(high_dim: np.ndarray, low_dim: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what is subtracted from an embedding, the matrix that then maps it, and what is added."""
    # The projection is linear for any data it was fitted on, so that least squares recover it.
    mean, low_mean = high_dim.mean(axis=0, dtype=np.float64), low_dim.mean(axis=0, dtype=np.float64)
    centered = high_dim - mean
    variances, directions = np.linalg.eigh(centered.T @ centered)
    used = variances > 1e-11 * variances[-1]
    inverse = (directions[:, used] / variances[used]) @ directions[:, used].T
    return mean, inverse @ (centered.T @ (low_dim - low_mean)), low_mean


def _tsne_objective(low_dim: np.ndarray, neighbors: np.ndarray, p: np.ndarray) -> Objective:
    """Σ_j p_j log(1 + |y − y_j|²) + log Σ_j 1/(1 + |y − y_j|²): a row of t-SNE's KL divergence."""

    def objective(y: np.ndarray, rows: np.ndarray, surroundings: NearAndFar) -> tuple[np.ndarray, np.ndarray]:
        others, count = surroundings
        to_near, near = _differences(y, low_dim[neighbors[rows]])
        to_all, far = _differences(y, others)
        pull, kernel = p[rows] / (1 + near), 1 / (1 + far)
        weighted = count * kernel
        total = weighted.sum(axis=1)
        push = weighted * kernel / total[:, None]
        value = (p[rows] * np.log1p(near)).sum(axis=1) + np.log(total)
        return value, 2 * (_weighted_sum(pull, to_near) - _weighted_sum(push, to_all))

    return objective


def _umap_objective(low_dim: np.ndarray, neighbors: np.ndarray, strengths: np.ndarray, a: float, b: float) -> Objective:
    """Return UMAP's cross-entropy of a point: each attraction counts twice, for five negative samples (see umap.py)."""
    rate = 5 / len(low_dim) * strengths.sum(axis=1, keepdims=True)

    def objective(y: np.ndarray, rows: np.ndarray, surroundings: NearAndFar) -> tuple[np.ndarray, np.ndarray]:
        others, count = surroundings
        to_near, near = _differences(y, low_dim[neighbors[rows]])
        to_all, far = _differences(y, others)
        near, far = near + _EPS, far + _EPS
        near_pow, far_pow = a * near**b, a * far**b
        attraction = 2 * (strengths[rows] * np.log1p(near_pow)).sum(axis=1)
        value = attraction + (rate[rows] * count * np.log1p(1 / far_pow)).sum(axis=1)
        pull = 2 * strengths[rows] * near_pow / (near * (1 + near_pow))
        push = rate[rows] * count / (far * (1 + far_pow))
        return value, 2 * b * (_weighted_sum(pull, to_near) - _weighted_sum(push, to_all))

    return objective


def _pacmap_objective(low_dim: np.ndarray, neighbors: np.ndarray, further: float, is_local: bool) -> Objective:
    """Σ_j d_j / (10 + d_j) of the neighbors, and the mean of 1 / (1 + d_j) so many times, where d is 1 + |y − y_j|².

    For LocalMAP the first sum is that whose gradient counts 5/√d_j times, and the mean is of points within reach.
    """

    def objective(y: np.ndarray, rows: np.ndarray, surroundings: NearAndFar) -> tuple[np.ndarray, np.ndarray]:
        others, count = surroundings
        to_near, near = _differences(y, low_dim[neighbors[rows]])
        to_all, far = _differences(y, others)
        near, far = 1 + near, 1 + far
        value, pull = near / (10 + near), 10 / np.square(10 + near)
        if is_local:
            root, half = np.sqrt(near), REACH / 2
            value, pull = half * (root / (10 + near) + np.arctan(root / 10**0.5) / 10**0.5), half / root * pull
            count = count * (far <= 1 + REACH**2)
        rate = further * count / np.maximum(count.sum(axis=1, keepdims=True), 1)
        gradient = _weighted_sum(pull, to_near) - _weighted_sum(rate / np.square(1 + far), to_all)
        return value.sum(axis=1) + (rate / (1 + far)).sum(axis=1), 2 * gradient

    return objective


def _differences(y: np.ndarray, others: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return y − others (m × k, one array per axis) and its squared length."""
    differences = [y[:, axis, None] - others[..., axis] for axis in range(y.shape[1])]
    return differences, np.asarray(sum(difference * difference for difference in differences))


def _weighted_sum(weights: np.ndarray, differences: list[np.ndarray]) -> np.ndarray:
    return np.stack([np.einsum("mk,mk->m", weights, difference) for difference in differences], axis=1)


def _minimize(objective: Objective, on: Placement, neighbors: np.ndarray) -> np.ndarray:
    """Descend from the best of each point's nearest neighbors and their mean, until steps are invisible."""
    guesses, summary = on.low_dim[neighbors[:, :NUM_STARTS]], on.summary  # guesses: m × g × dims
    positions = np.empty((len(guesses), guesses.shape[2]), np.float32)
    for rows in np.split(np.arange(len(guesses)), range(_BLOCK_ROWS, len(guesses), _BLOCK_ROWS)):
        mean = guesses[rows].mean(axis=1)
        step = np.abs(guesses[rows] - mean[:, None]).mean(axis=(1, 2))
        candidates = np.concatenate([mean[:, None], guesses[rows]], axis=1).astype(np.float64)
        near, count = summary.near_and_far(guesses[rows, 0])
        y, tried = np.empty_like(candidates[:, 0]), candidates.shape[1]
        for start in range(0, len(rows), _TRIED_ROWS):  # all candidates of some points, while they fit the cache
            part = np.arange(start, min(start + _TRIED_ROWS, len(rows)))
            each = np.repeat(part, tried)
            values, _ = objective(np.concatenate(candidates[part]), rows[each], (near[each], count[each]))
            y[part] = candidates[part, values.reshape(-1, tried).argmin(axis=1)]
        positions[rows] = _gradient_steps(objective, y, rows, summary.near_and_far(y), step)
    return positions


def _gradient_steps(
    objective: Objective, y: np.ndarray, rows: np.ndarray, surroundings: NearAndFar, step: np.ndarray
) -> np.ndarray:
    value, gradient = objective(y, rows, surroundings)
    min_step = 1e-4 * step
    for _ in range(_STEPS):
        if (step <= min_step).all():
            break
        norm = np.linalg.norm(gradient, axis=1, keepdims=True)
        candidate = y - step[:, None] * gradient / np.where(norm > 0, norm, 1)
        new_value, new_gradient = objective(candidate, rows, surroundings)
        better = new_value < value
        y, gradient = np.where(better[:, None], candidate, y), np.where(better[:, None], new_gradient, gradient)
        value, step = np.where(better, new_value, value), np.where(better, 1.2 * step, 0.4 * step)
    return y


NUM_NEAR = 256
GRID_CELLS = 1600  # or fewer


class FarFieldSummary:
    """Summarizes the points of a map (n × dims) for any position on it, in time that hardly grows with n."""

    def __init__(self, positions: np.ndarray) -> None:
        self._positions = np.ascontiguousarray(positions, np.float32)
        n, dims = positions.shape
        low, high = positions.min(axis=0), positions.max(axis=0)
        cells = int(GRID_CELLS ** (1 / dims))  # along each axis
        step = np.clip(((positions - low) / np.where(high > low, high - low, 1) * cells).astype(int), 0, cells - 1)
        _, self._cell = np.unique(step @ cells ** np.arange(dims), return_inverse=True)
        self._count = np.bincount(self._cell).astype(np.float64)
        self._sum = np.stack([np.bincount(self._cell, axis) for axis in positions.T.astype(np.float64)], axis=1)
        self._num_near, self._search = min(NUM_NEAR, n), EuclideanSearch(self._positions)

    def near_and_far(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Summarize the map around some positions.

        Args:
            queries: m × dims.

        Returns:
            Positions (m × k × dims): near points, then means of cells; and how many points each stands for (m × k).
        """
        _, near = self._search.search(np.ascontiguousarray(queries, np.float32), self._num_near)
        m, cells = len(queries), len(self._count)
        slot = (self._cell[near] + cells * np.arange(m)[:, None]).ravel()
        count = self._count - np.bincount(slot, minlength=m * cells).reshape(m, cells)
        near_positions = self._positions[near].astype(np.float64)
        near_sums = [
            np.bincount(slot, axis.ravel(), m * cells).reshape(m, cells) for axis in np.moveaxis(near_positions, 2, 0)
        ]
        means = (self._sum - np.stack(near_sums, axis=2)) / np.maximum(count, 1)[:, :, None]
        return np.concatenate([near_positions, means], axis=1), np.concatenate([np.ones(near.shape), count], axis=1)
