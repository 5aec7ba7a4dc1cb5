"""New points on a finished map that stays as it is, from what lies on disk. Loads no torch."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.ops.neighbor_graph import mean_vector, prepare
from dmlviz.projection.affinities import conditional_probabilities
from dmlviz.projection.far_field import FarFieldSummary
from dmlviz.projection.fuzzy_graph import as_distances, fit_ab, membership_strengths
from dmlviz.projection.other_metrics import near
from dmlviz.projection.validation import check_embeddings

# How badly places (m × dims) suit the m new points of those rows, given the crowd around them (others m × k × dims,
# and for how many points each stands, m × k); and the gradient: (m,), (m × dims).
NearAndFar = tuple[np.ndarray, np.ndarray]
Objective = Callable[[np.ndarray, slice, NearAndFar], tuple[np.ndarray, np.ndarray]]

_DUPLICATE_EPS = 1e-5
_NUM_STARTS = 15
_STEPS = 60
_AT_ONCE = 64
_EPS = 1e-3


def place_on(config: ProjectionConfig, embeddings: Any, coordinates: Any, new: Any) -> np.ndarray:
    """Positions (m × dims, float32) of new embeddings (m × d) on the map that `config` drew of `embeddings`.

    Exact for linear maps. Otherwise each new point goes to where the map's own loss is least for it, all others held
    fixed. The same point always lands on the same spot, and a point of the map on itself. Raises UserError for
    embeddings of another space or that are not finite.
    """
    known, here = check_embeddings(embeddings), check_embeddings(coordinates, "Coordinates")
    wanted = alike(new, known.shape[1])
    if len(known) != len(here):
        raise UserError(f"A map has a place for each embedding; got {len(here)} places for {len(known)} embeddings.")
    if PROJECTIONS[config.method].linear:
        return _linear(known, here, wanted)
    metric = config.params["metric"]
    center = mean_vector(known)
    known, wanted = prepare(known, metric, center), prepare(wanted, metric, center)
    count = int(3 * config.params["perplexity"]) if config.method == "tsne" else config.params["neighbors"]
    squared, found = near(wanted, known, min(count, len(known)), metric)
    if config.method == "tsne":
        misfit = _tsne_objective(
            here, found, conditional_probabilities(squared, min(config.params["perplexity"], squared.shape[1] / 2))
        )
    else:
        misfit = _umap_misfit(here, found, membership_strengths(as_distances(squared, metric)), *_curve(config))
    placed = _minimize(misfit, here[found[:, :_NUM_STARTS]], FarFieldSummary(here))
    size = np.sqrt(np.square(known).sum(axis=1).max())
    known_already = squared[:, 0] <= (_DUPLICATE_EPS * size) ** 2
    placed[known_already] = here[found[known_already, 0]]
    return placed


def alike(new: Any, dimension: int) -> np.ndarray:
    """Return new embeddings (m × d, float32) of a map's space; raise UserError for those of another."""
    wanted = check_embeddings(new, "New embeddings")
    if wanted.shape[1] != dimension:
        raise UserError(
            f"New points lie in the map's space of {dimension} dimensions; got {wanted.shape[1]}: "
            "embed them with the same net."
        )
    return wanted


def _curve(config: ProjectionConfig) -> tuple[float, float]:
    return fit_ab(config.params["min_dist"], config.params.get("spread", 1.0))


def _linear(known: np.ndarray, here: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    # Whatever the basis was fitted on, the map is linear, so least squares give it back.
    mean, middle = known.mean(axis=0, dtype=np.float64), here.mean(axis=0, dtype=np.float64)
    rows = known - mean
    variances, directions = np.linalg.eigh(rows.T @ rows)
    seen = variances > 1e-11 * variances[-1]
    inverse = (directions[:, seen] / variances[seen]) @ directions[:, seen].T
    return ((wanted - mean) @ (inverse @ (rows.T @ (here - middle))) + middle).astype(np.float32)


def _tsne_objective(here: np.ndarray, found: np.ndarray, p: np.ndarray) -> Objective:
    """Σ_j p_j log(1 + |y − y_j|²) + log Σ_j 1/(1 + |y − y_j|²): a row of t-SNE's KL divergence."""

    def misfit(y: np.ndarray, rows: slice, seen: NearAndFar) -> tuple[np.ndarray, np.ndarray]:
        others, count = seen
        to_near, near = _apart(y, here[found[rows]])
        to_all, far = _apart(y, others)
        pull, closeness = p[rows] / (1 + near), 1 / (1 + far)
        counted = count * closeness
        total = counted.sum(axis=1)
        push = counted * closeness / total[:, None]
        value = (p[rows] * np.log1p(near)).sum(axis=1) + np.log(total)
        return value, 2 * (_weighted(pull, to_near) - _weighted(push, to_all))

    return misfit


def _umap_misfit(here: np.ndarray, found: np.ndarray, strengths: np.ndarray, a: float, b: float) -> Objective:
    """UMAP's cross-entropy for one point: every pull counts twice, for five random pushes (see umap.py)."""
    rate = 5 / len(here) * strengths.sum(axis=1, keepdims=True)

    def misfit(y: np.ndarray, rows: slice, seen: NearAndFar) -> tuple[np.ndarray, np.ndarray]:
        others, count = seen
        to_near, near = _apart(y, here[found[rows]])
        to_all, far = _apart(y, others)
        near, far = near + _EPS, far + _EPS
        near_risen, far_risen = a * near**b, a * far**b
        pulled = 2 * (strengths[rows] * np.log1p(near_risen)).sum(axis=1)
        value = pulled + (rate[rows] * count * np.log1p(1 / far_risen)).sum(axis=1)
        pull = 2 * strengths[rows] * near_risen / (near * (1 + near_risen))
        push = rate[rows] * count / (far * (1 + far_risen))
        return value, 2 * b * (_weighted(pull, to_near) - _weighted(push, to_all))

    return misfit


def _apart(y: np.ndarray, others: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Differences y − others (m × k, one array for each axis) and their squared length."""
    differences = [y[:, axis, None] - others[..., axis] for axis in range(y.shape[1])]
    return differences, sum(difference * difference for difference in differences)  # type: ignore[return-value]


def _weighted(weights: np.ndarray, differences: list[np.ndarray]) -> np.ndarray:
    return np.stack([np.einsum("mk,mk->m", weights, difference) for difference in differences], axis=1)


def _minimize(misfit: Objective, guesses: np.ndarray, crowd: FarFieldSummary) -> np.ndarray:
    """From the best of each point's first guesses (m × g × dims) downhill, until the steps are too small to see."""
    m = len(guesses)
    placed = np.empty((m, guesses.shape[2]), np.float32)
    for start in range(0, m, _AT_ONCE):
        rows = slice(start, min(start + _AT_ONCE, m))
        middle = guesses[rows].mean(axis=1).astype(np.float64)
        tried = [middle, *np.moveaxis(guesses[rows].astype(np.float64), 1, 0)]
        seen = crowd.near_and_far(guesses[rows, 0])
        values = np.stack([misfit(y, rows, seen)[0] for y in tried])
        best = values.argmin(axis=0)
        y = np.stack(tried)[best, np.arange(len(best))]
        step = np.abs(guesses[rows] - middle[:, None]).mean(axis=(1, 2))
        placed[rows] = _gradient_steps(misfit, y, rows, crowd.near_and_far(y), step)
    return placed


def _gradient_steps(misfit: Objective, y: np.ndarray, rows: slice, seen: NearAndFar, step: np.ndarray) -> np.ndarray:
    value, slope = misfit(y, rows, seen)
    enough = 1e-4 * step
    for _ in range(_STEPS):
        if (step <= enough).all():
            break
        steepness = np.linalg.norm(slope, axis=1, keepdims=True)
        tried = y - step[:, None] * slope / np.where(steepness > 0, steepness, 1)
        new_value, new_slope = misfit(tried, rows, seen)
        better = new_value < value
        y, slope = np.where(better[:, None], tried, y), np.where(better[:, None], new_slope, slope)
        value, step = np.where(better, new_value, value), np.where(better, 1.2 * step, 0.4 * step)
    return y
