"""UMAP (McInnes, Healy, Melville 2018) without compilation, with intermediate frames.

Neighbor graph, curve, loss and schedule are umap-learn's. The layout runs in small batches of whole-array operations
and takes a few seconds, where umap-learn first compiles for a minute.
"""

from itertools import pairwise

import numpy as np
import torch
from scipy.sparse import csr_matrix, triu
from torch import Tensor

from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection.euclidean_form import prepare
from dmlviz.projection.fuzzy_graph import as_distances, fit_ab, graph, intersect_labels, membership_strengths
from dmlviz.projection.progress import ProgressReporter
from dmlviz.projection.registry import REGISTRY, Layout, Method, Request
from dmlviz.projection.threads import one_thread

_BATCHES = 16  # steps per iteration (umap-learn's epoch): neighbors are worse with 8, and no better with 32
_NEGATIVE_SAMPLES = 4  # per point and step
_NEGATIVE_RATE = 5  # negative samples per attraction, as in umap-learn
_CLIP = 4.0  # maximum change of a coordinate by one force, as in umap-learn
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
        start: Initial positions, n × dims; PCA by default.
        begun: Iterations already done by the layout that `start` comes from, to resume it.

    Raises:
        CancelledError: If it is stopped before the first iteration.
    """
    points = prepare(embeddings, metric)
    init = initial_layout(points, dims, seed) if start is None else np.asarray(start, np.float32)
    frames.report(begun, iterations, None, init)
    squared, indices = EuclideanSearch(points).others(neighbors - 1, go_on=frames.raise_if_stopped)
    edges = graph(membership_strengths(as_distances(squared, metric)), indices)
    if labels is not None:
        edges = intersect_labels(edges, labels)
    frames.raise_if_stopped()

    forces = Forces(edges, iterations, seed, *fit_ab(min_dist))
    y = torch.from_numpy(init.T.copy())
    done = begun
    while done < iterations and not frames.should_stop():
        forces.step(y, rate=1 - done / iterations)
        done += 1
        if frames.is_due() and done < iterations:
            frames.report(done, iterations, None, _rows(y))
    frames.report(done, iterations, None, _rows(y))
    return Layout(_rows(y), None, done)


@REGISTRY.register("umap")
class UMAP(Method):
    """UMAP as this module computes it."""

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the layout, computed on one thread."""
        config = request.config
        params = {name: value for name, value in config.params.items() if name != "supervised"}
        with one_thread(len(rows)):
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


def initial_layout(points: np.ndarray, dims: int, seed: int) -> np.ndarray:
    """Return the points' PCA stretched to 10 along every axis, with a little noise, so that equal points separate."""
    flat = LinearProjection.joint_pca([points], range(1, dims + 1)).project(points)
    size = flat.max(axis=0) - flat.min(axis=0)
    noise = np.random.default_rng(seed).standard_normal(flat.shape)
    stretched = (flat - flat.min(axis=0)) / np.where(size > 1e-6 * size.max(), size, np.inf)
    return np.asarray(_INIT_SPREAD * (stretched + 1e-4 * noise), np.float32)


class Forces:
    """Attraction along a graph's edges, as often as their weight asks for, and repulsion from negative samples.

    Args:
        edges: The fuzzy graph, n × n.
        iterations: Number of iterations; weaker edges than 1 / iterations are never used.
        seed: Seed of the order of edges and of the samples.
        a: Parameter of the curve 1/(1 + a d^2b).
        b: Parameter of the curve.
    """

    def __init__(self, edges: csr_matrix, iterations: int, seed: int, a: float, b: float) -> None:
        upper = triu(edges, format="coo")
        weight = upper.data / upper.data.max()
        used = weight > 1 / iterations
        self._random = torch.Generator().manual_seed(seed)
        order = torch.randperm(int(used.sum()), generator=self._random)
        self._head, self._tail = (torch.from_numpy(end[used].astype(np.int32))[order] for end in upper.coords)
        self._weight = torch.from_numpy(weight[used].astype(np.float32))[order]
        self._due = torch.rand(len(order), generator=self._random)
        degree = torch.zeros(edges.shape[0])
        for end in (self._head, self._tail):
            degree.index_add_(0, end, self._weight)
        self._push_rate = degree * (_NEGATIVE_RATE / _BATCHES / _NEGATIVE_SAMPLES)
        self._a, self._b = a, b

    def step(self, y: Tensor, rate: float) -> None:
        """Move positions (dims × n) in place; an edge of weight 1 attracts twice, once from either end."""
        self._due += 2 * self._weight
        pulls = self._due.floor()
        self._due -= pulls
        bounds = [len(pulls) * i // _BATCHES for i in range(_BATCHES + 1)]
        for start, end in pairwise(bounds):
            active = start + pulls[start:end].nonzero().flatten()
            self._attract(y, self._head[active], self._tail[active], pulls[active] * rate, _CLIP * rate)
            self._repel(y, rate)

    def _attract(self, y: Tensor, head: Tensor, tail: Tensor, rates: Tensor, limit: float) -> None:
        differences = y.index_select(1, head) - y.index_select(1, tail)
        squared, power = self._pow_b(differences)
        force = differences.mul_(rates * power / (squared * (1 + power)) * (-2 * self._b)).clamp_(-limit, limit)
        y.index_add_(1, head, force).index_add_(1, tail, force, alpha=-1)

    def _repel(self, y: Tensor, rate: float) -> None:
        # Negative samples are one random permutation, read from random offsets: n random numbers instead of 4 n.
        n = y.shape[1]
        order = torch.randperm(n, generator=self._random)
        shuffled = y.index_select(1, order).repeat(1, 2)
        starts = torch.randint(n, (_NEGATIVE_SAMPLES,), generator=self._random).tolist()
        differences = y[:, None] - torch.stack([shuffled[:, start : start + n] for start in starts], 1)
        squared, power = self._pow_b(differences)
        force = differences.mul_(2 * self._b / ((squared + 0.001) * (1 + power))).clamp_(-_CLIP, _CLIP)
        y.addcmul_(force.sum(1), self._push_rate, value=rate)

    def _pow_b(self, differences: Tensor) -> tuple[Tensor, Tensor]:
        """Return |d|² and a |d|^2b."""
        squared = differences.square().sum(0).clamp_(min=1e-12)
        return squared, squared.log().mul_(self._b).exp_().mul_(self._a)


def _rows(y: Tensor) -> np.ndarray:
    return y.T.contiguous().numpy().copy()
