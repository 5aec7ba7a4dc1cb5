"""t-SNE (van der Maaten, Hinton 2008) in time linear in n, with intermediate frames."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy.sparse import csr_matrix

from dmlviz.config import ProjectionConfig
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.neighbor_index import NeighborTable
from dmlviz.projection.affinities import conditional_probabilities, joint_probabilities, prune
from dmlviz.projection.euclidean_form import nearest_others, prepare
from dmlviz.projection.progress import ProgressReporter
from dmlviz.projection.registry import REGISTRY, Layout, Method, Request
from dmlviz.projection.threads import Helpers, one_thread
from dmlviz.projection.tsne_descent import COARSE, FINE, descent

# Measured on 10,000 embeddings of MNIST: the same divergence as with all pairs and a fine grid throughout, in a third
# of the time.
_KEPT_AFFINITY = 0.9
_EARLY = 60  # iterations of a live map in which neighbors pull more strongly
_JUMP = 0.2  # share of the neighbors that stayed, below which the net has jumped
_FINE_FRACTION = 1 / 6


def fit(
    embeddings: np.ndarray,
    *,
    perplexity: float,
    iterations: int,
    exaggeration: float,
    attraction: float,
    metric: str,
    dims: int,
    seed: int,
    frames: ProgressReporter,
    start: np.ndarray | None = None,
    begun: int = 0,
    momentum: np.ndarray | None = None,
    device: str = "cpu",
) -> Layout:
    """Fit a t-SNE layout; a stop keeps the positions reached.

    Args:
        embeddings: Embeddings (n × d), float32.
        perplexity: Effective number of neighbors.
        iterations: Number of iterations.
        exaggeration: Factor of the early affinities.
        attraction: Factor of all later ones: 1 is t-SNE.
        metric: Metric of the embeddings.
        dims: 2 or 3.
        seed: Seed of the initial noise.
        frames: Progress callbacks, from the first iteration on.
        start: Initial positions, n × dims, from which the iterations after the early ones begin; PCA by default.
        begun: Iterations already done by the layout that `start` comes from, to resume it.
        momentum: Velocity and gains (2 × n × dims) of that layout; without them it goes on from rest.
        device: Torch device.

    Raises:
        CancelledError: If it is stopped before the first iteration.
    """
    points = prepare(embeddings, metric)
    init = initial_layout(points, dims, seed) if start is None else np.asarray(start, np.float32)
    early = early_iterations(iterations) if exaggeration > 1 else 0
    done = begun or (0 if start is None else early)
    frames.report(done, iterations, None, init)
    near, affinities = neighbors_and_affinities(points, perplexity, frames.raise_if_stopped)
    frames.raise_if_stopped()
    with Helpers() as helpers:
        moving = descent(init, momentum, attracting(affinities, attraction), affinities, device, helpers)
        while done < iterations and not frames.should_stop():
            if done == early:
                moving.restart()
            spacing = FINE if done >= iterations * (1 - _FINE_FRACTION) else COARSE
            moving.step(spacing, exaggeration if done < early else attraction)
            done += 1
            if frames.is_due() and done < iterations:
                frames.report(done, iterations, moving.divergence(COARSE), moving.positions)
        error = moving.divergence(FINE)
    frames.report(done, iterations, error, moving.positions)
    return Layout(moving.positions, error, done, momentum=moving.momentum, neighbors=near.first(10))


@REGISTRY.register("tsne")
class TSNE(Method):
    """t-SNE as this module computes it."""

    updates = (150, 25)

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the layout, computed on one thread."""
        config = request.config
        with one_thread():
            return fit(
                rows,
                **config.params,
                dims=config.dims,
                seed=config.seed,
                frames=request.frames,
                start=request.start,
                begun=request.begun,
                momentum=request.momentum,
                device=request.device,
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
        """Go on, from rest where the net has jumped."""
        points = prepare(rows, config.params["metric"])
        near, affinities = neighbors_and_affinities(points, config.params["perplexity"])
        start = initial_layout(points, config.dims, config.seed) if begun is None else begun.coordinates
        momentum = None if begun is None or _kept(begun.neighbors, near) < _JUMP else begun.momentum
        done, attraction = 0 if begun is None else begun.iterations, config.params["attraction"]
        with one_thread(), Helpers() as helpers:
            moving = descent(start, momentum, attracting(affinities, attraction), affinities, device, helpers)
            for turns in frames:
                for _ in turns:
                    if done == _EARLY:
                        moving.restart()
                    moving.step(COARSE, config.params["exaggeration"] if done < _EARLY else attraction)
                    done += 1
                yield Layout(moving.positions, moving.divergence(COARSE), done, None, moving.momentum, near.first(10))


def early_iterations(iterations: int) -> int:
    """Return in how many of all iterations the neighbors pull more strongly."""
    return min(250, iterations // 4)


def neighbors_and_affinities(
    points: np.ndarray, perplexity: float, go_on: Callable[[], None] = lambda: None
) -> tuple[NeighborTable, csr_matrix]:
    """Return the nearest others of each point (n × d, of Euclidean distance) and p(i, j)."""
    near = nearest_others(points, min(len(points) - 1, int(3 * perplexity)), go_on)
    return near, joint_probabilities(conditional_probabilities(np.square(near.distances), perplexity), near.indices)


def attracting(affinities: csr_matrix, attraction: float) -> csr_matrix:
    """Return the p(i, j) that attract: what few hold together drifts apart where all pull with another strength."""
    return prune(affinities, _KEPT_AFFINITY) if attraction == 1 else affinities


def initial_layout(points: np.ndarray, dims: int, seed: int) -> np.ndarray:
    """Return the points' PCA scaled to a standard deviation of 1e-4, with 1% noise, so that equal points separate."""
    flat = LinearProjection.joint_pca([points], range(1, dims + 1)).project(points)
    size = float(flat[:, 0].std())
    noise = np.random.default_rng(seed).standard_normal(flat.shape)
    return (1e-4 * (flat / (size if size > 0 else 1.0) + 0.01 * noise)).astype(np.float32)


def _kept(before: NeighborTable | None, now: NeighborTable) -> float:
    """Return the share of the nearest neighbors that stayed; 1 if those before are not known."""
    if before is None:
        return 1.0
    k = min(before.indices.shape[1], now.indices.shape[1])
    return float((now.indices[:, :k, None] == before.indices[:, None, :k]).any(axis=2).mean())
