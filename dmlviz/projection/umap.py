"""UMAP (McInnes, Healy, Melville 2018) with intermediate frames.

Neighbor graph, curve, loss and schedule are umap-learn's.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy.sparse import csr_matrix

from dmlviz.config import ProjectionConfig
from dmlviz.ops.compiled import compiled
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.neighbor_index import NeighborTable
from dmlviz.projection.euclidean_form import nearest_others, prepare
from dmlviz.projection.fuzzy_graph import as_distances, fit_ab, graph, intersect_labels, membership_strengths
from dmlviz.projection.progress import ProgressReporter
from dmlviz.projection.registry import REGISTRY, Layout, Method, Request
from dmlviz.projection.threads import Helpers, one_thread
from dmlviz.projection.umap_forces import CompiledForces, Schedule, TorchForces, load_kernels

_LATER_RATE = 0.25  # of a live map: at 1 a frame is half noise
_INIT_SPREAD = 10.0  # of the initial positions, as in umap-learn


def fit(
    embeddings: np.ndarray,
    *,
    neighbors: int,
    min_dist: float,
    iterations: int,
    metric: str,
    dims: int,
    seed: int,
    frames: ProgressReporter,
    labels: np.ndarray | None = None,
    start: np.ndarray | None = None,
    begun: int = 0,
) -> Layout:
    """Fit a UMAP layout; a stop keeps the positions reached.

    Args:
        embeddings: Embeddings (n × d), float32.
        neighbors: Number of neighbors, each point itself included.
        min_dist: Distance of near neighbors on the map.
        iterations: Number of iterations.
        metric: Metric of the embeddings.
        dims: 2 or 3.
        seed: Seed of all random choices.
        frames: Progress callbacks, from the first iteration on, without an error value.
        labels: Class numbers (n), for a supervised map.
        start: Initial positions, n × dims, from which it goes on as slowly as a live map; PCA by default.
        begun: Iterations already done by the layout that `start` comes from, to resume it.

    Raises:
        CancelledError: If it is stopped before the first iteration.
    """
    points = prepare(embeddings, metric)
    init = initial_layout(points, dims, seed) if start is None else np.asarray(start, np.float32)
    done = begun or (0 if start is None else int((1 - _LATER_RATE) * iterations))
    frames.report(done, iterations, None, init)
    near, edges = neighbors_and_edges(points, neighbors, metric, labels, frames.raise_if_stopped)
    frames.raise_if_stopped()

    with Helpers() as helpers:
        forces = forces_of(edges, iterations, seed, min_dist, helpers)
        y = np.ascontiguousarray(init.T)
        while done < iterations and not frames.should_stop():
            y = forces.step(y, done, rate=1 - done / iterations)
            done += 1
            if frames.is_due() and done < iterations:
                frames.report(done, iterations, None, y.T.copy())
    frames.report(done, iterations, None, y.T.copy())
    return Layout(y.T.copy(), None, done, neighbors=near.first(10))


@REGISTRY.register("umap")
class UMAP(Method):
    """UMAP as this module computes it."""

    updates = (100, 20)

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the layout, computed on one thread."""
        config = request.config
        params = {name: value for name, value in config.params.items() if name != "supervised"}
        with one_thread():
            return fit(
                rows,
                **params,
                dims=config.dims,
                seed=config.seed,
                frames=request.frames,
                start=request.start,
                begun=request.begun,
                labels=request.labels,
            )

    def follow(
        self,
        rows: np.ndarray,
        config: ProjectionConfig,
        begun: Layout | None,
        frames: Iterable[Iterator[float]],
        labels: np.ndarray | None,
        device: str,
    ) -> Iterator[Layout]:
        """Go on, more slowly than at first."""
        params = config.params
        points = prepare(rows, params["metric"])
        near, edges = neighbors_and_edges(points, params["neighbors"], params["metric"], labels)
        start = initial_layout(points, config.dims, config.seed) if begun is None else begun.coordinates
        done, rate = (0, 1.0) if begun is None else (begun.iterations, _LATER_RATE)
        y = np.ascontiguousarray(start.T)
        with one_thread(), Helpers() as helpers:
            forces = forces_of(edges, params["iterations"], config.seed, params["min_dist"], helpers)
            for turns in frames:
                for share in turns:
                    y = forces.step(y, done, rate=rate * (1 - share))
                    done += 1
                yield Layout(y.T.copy(), None, done, neighbors=near.first(10))


def initial_layout(points: np.ndarray, dims: int, seed: int) -> np.ndarray:
    """Return the points' PCA stretched to 10 along every axis, with a little noise, so that equal points separate."""
    flat = LinearProjection.joint_pca([points], range(1, dims + 1)).project(points)
    size = flat.max(axis=0) - flat.min(axis=0)
    noise = np.random.default_rng(seed).standard_normal(flat.shape)
    stretched = (flat - flat.min(axis=0)) / np.where(size > 1e-6 * size.max(), size, np.inf)
    return np.asarray(_INIT_SPREAD * (stretched + 1e-4 * noise), np.float32)


def neighbors_and_edges(
    points: np.ndarray,
    neighbors: int,
    metric: str,
    labels: np.ndarray | None = None,
    go_on: Callable[[], None] = lambda: None,
) -> tuple[NeighborTable, csr_matrix]:
    """Return the nearest others of each point (n × d, of Euclidean distance) and the fuzzy graph, cut by labels."""
    near = nearest_others(points, neighbors - 1, go_on)
    edges = graph(membership_strengths(as_distances(np.square(near.distances), metric)), near.indices)
    return near, edges if labels is None else intersect_labels(edges, labels)


def forces_of(
    edges: csr_matrix, iterations: int, seed: int, min_dist: float, helpers: Helpers
) -> CompiledForces | TorchForces:
    """Return the forces of a fuzzy graph, compiled where that is possible."""
    kernels = compiled(load_kernels)
    schedule, (a, b) = Schedule(edges, iterations, seed), fit_ab(min_dist)
    return TorchForces(schedule, a, b) if kernels is None else CompiledForces(schedule, a, b, kernels, helpers)
