"""UMAP (McInnes, Healy, Melville 2018), ready at once and showing itself while it runs.

umap-learn's neighbor graph, curve, loss and schedule, laid out in small batches of whole-array operations where
umap-learn moves point by point in compiled code; the compiling takes it a minute, the layout here a few seconds.
"""

from itertools import pairwise

import numpy as np
import torch
from scipy.sparse import csr_matrix, triu
from torch import Tensor

from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.neighbor_graph import nearest_others, prepare
from dmlviz.projection.fuzzy_graph import as_distances, fit_ab, graph, intersect_labels, membership_strengths
from dmlviz.projection.progress import ProgressReporter
from dmlviz.projection.tsne import Layout

_BATCHES = (
    16  # an iteration (umap-learn's epoch) in so many steps: with 8 the neighbors come out worse, with 32 no better
)
_NEGATIVE_SAMPLES = 4  # points that every point is pushed from in a step
_NEGATIVE_RATE = 5  # pushes for every pull, as in umap-learn
_CLIP = 4.0  # the most that one pull or push moves a coordinate, as in umap-learn
_INIT_SPREAD = 10.0  # of the first positions, as in umap-learn


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
    """Lay out embeddings (n × d, float32), from their PCA or from `start` (n × dims); supervised with labels.

    With `begun`, `start` is what this layout had reached after so many iterations, and it goes on from there. Frames
    come from the first iteration on, without an error; a stop between two iterations keeps what was reached.
    """
    points = prepare(embeddings, metric)
    first = initial_layout(points, dims, seed) if start is None else np.asarray(start, np.float32)
    frames.report(begun, iterations, None, first)
    squared, found = nearest_others(points, neighbors - 1, frames.raise_if_stopped)
    edges = graph(membership_strengths(as_distances(squared, metric)), found)
    if labels is not None:
        edges = intersect_labels(edges, labels)
    frames.raise_if_stopped()

    forces = Forces(edges, iterations, seed, *fit_ab(min_dist))
    y = torch.from_numpy(first.T.copy())
    done = begun
    while done < iterations and not frames.should_stop():
        forces.step(y, rate=1 - done / iterations)
        done += 1
        if frames.is_due() and done < iterations:
            frames.report(done, iterations, None, _rows(y))
    frames.report(done, iterations, None, _rows(y))
    return Layout(_rows(y), None, done)


def initial_layout(points: np.ndarray, dims: int, seed: int) -> np.ndarray:
    """The points' PCA stretched to 10 along every axis, with a little noise, so that equal points part."""
    flat = LinearProjection.joint_pca([points], range(1, dims + 1)).project(points)
    size = flat.max(axis=0) - flat.min(axis=0)
    noise = np.random.default_rng(seed).standard_normal(flat.shape)
    stretched = (flat - flat.min(axis=0)) / np.where(size > 1e-6 * size.max(), size, np.inf)
    return (_INIT_SPREAD * (stretched + 1e-4 * noise)).astype(np.float32)


class Forces:
    """The pulls along a graph's edges, each as often as it is strong, and the pushes from random strangers."""

    def __init__(self, edges: csr_matrix, iterations: int, seed: int, a: float, b: float) -> None:
        once = triu(edges, format="coo")
        weight = once.data / once.data.max()
        seen = weight > 1 / iterations
        self._random = torch.Generator().manual_seed(seed)
        order = torch.randperm(int(seen.sum()), generator=self._random)
        self._head, self._tail = (torch.from_numpy(end[seen].astype(np.int32))[order] for end in once.coords)
        self._weight = torch.from_numpy(weight[seen].astype(np.float32))[order]
        self._due = torch.rand(len(order), generator=self._random)
        degree = torch.zeros(edges.shape[0])
        for end in (self._head, self._tail):
            degree.index_add_(0, end, self._weight)
        self._push_rate = degree * (_NEGATIVE_RATE / _BATCHES / _NEGATIVE_SAMPLES)
        self._a, self._b = a, b

    def step(self, y: Tensor, rate: float) -> None:
        """Move positions (dims × n) in place; an edge of weight 1 pulls twice, once from either end."""
        self._due += 2 * self._weight
        pulls = self._due.floor()
        self._due -= pulls
        bounds = [len(pulls) * i // _BATCHES for i in range(_BATCHES + 1)]
        for start, end in pairwise(bounds):
            which = start + pulls[start:end].nonzero().flatten()
            self._pull(y, self._head[which], self._tail[which], pulls[which] * rate, _CLIP * rate)
            self._push(y, rate)

    def _pull(self, y: Tensor, head: Tensor, tail: Tensor, rates: Tensor, farthest: float) -> None:
        apart = y.index_select(1, head) - y.index_select(1, tail)
        squared, risen = self._pow_b(apart)
        force = apart.mul_(rates * risen / (squared * (1 + risen)) * (-2 * self._b)).clamp_(-farthest, farthest)
        y.index_add_(1, head, force).index_add_(1, tail, force, alpha=-1)

    def _push(self, y: Tensor, rate: float) -> None:
        # Strangers are the points in random order, read from random places on: random numbers for n points, not 4 n.
        n = y.shape[1]
        order = torch.randperm(n, generator=self._random)
        shuffled = y.index_select(1, order).repeat(1, 2)
        starts = torch.randint(n, (_NEGATIVE_SAMPLES,), generator=self._random).tolist()
        apart = y[:, None] - torch.stack([shuffled[:, start : start + n] for start in starts], 1)
        squared, risen = self._pow_b(apart)
        force = apart.mul_(2 * self._b / ((squared + 0.001) * (1 + risen))).clamp_(-_CLIP, _CLIP)
        y.addcmul_(force.sum(1), self._push_rate, value=rate)

    def _pow_b(self, apart: Tensor) -> tuple[Tensor, Tensor]:
        """|d|² and a |d|^2b."""
        squared = apart.square().sum(0).clamp_(min=1e-12)
        return squared, squared.log().mul_(self._b).exp_().mul_(self._a)


def _rows(y: Tensor) -> np.ndarray:
    return y.T.contiguous().numpy().copy()
