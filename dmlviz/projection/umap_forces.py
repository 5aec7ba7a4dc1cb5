"""The forces of UMAP: attraction along a graph's edges, and repulsion from points drawn by chance."""

from functools import partial
from itertools import pairwise
from types import ModuleType

import numpy as np
import torch
from scipy.sparse import csr_matrix, triu
from torch import Tensor

from dmlviz.projection.threads import Helpers

_BATCHES = 16  # steps per iteration (umap-learn's epoch): neighbors are worse with 8, and no better with 32
_NEGATIVE_SAMPLES = 4  # per point and step
_NEGATIVE_RATE = 5  # negative samples per attraction, as in umap-learn
_CLIP = 4.0  # maximum change of a coordinate by one force, as in umap-learn
_SHARED_FROM = 20_000  # points, from which on a step is long enough to be divided among threads
_CHUNKS = 16


class Schedule:
    """Which edges pull in which step, and which points repel which: the same for a seed, wherever a layout begins.

    An edge pulls as often as its weight asks for; one of weight 1 twice in an iteration, once from either end.

    Args:
        edges: The fuzzy graph, n × n.
        iterations: Number of iterations; weaker edges than 1 / iterations are never used.
        seed: Seed of all choices.
    """

    def __init__(self, edges: csr_matrix, iterations: int, seed: int) -> None:
        upper = triu(edges, format="coo")
        weight = upper.data / upper.data.max()
        used = weight > 1 / iterations
        random = np.random.default_rng(seed)
        self._seed, self.n = seed, edges.shape[0]
        self.head, self.tail = (end[used].astype(np.int32) for end in upper.coords)
        self.weight = 2 * weight[used].astype(np.float32)
        self.phase = random.random(len(self.weight), np.float32)
        self.batch = random.integers(_BATCHES, size=len(self.weight), dtype=np.int32)
        degree = sum(np.bincount(end, self.weight, self.n) for end in (self.head, self.tail))
        self.push_rates = np.asarray(degree * (_NEGATIVE_RATE / 2 / _BATCHES / _NEGATIVE_SAMPLES), np.float32)

    def samples(self, iteration: int) -> tuple[np.ndarray, np.ndarray]:
        """Return an order of the points, and for each step offsets in it: all its points are repelled by those."""
        random = np.random.Generator(np.random.Philox(key=[self._seed, iteration]))
        return random.permutation(self.n), random.integers(self.n, size=(_BATCHES, _NEGATIVE_SAMPLES))


class CompiledForces:
    """Forces that are summed for each point by itself, on any number of threads."""

    def __init__(self, schedule: Schedule, a: float, b: float, kernels: ModuleType, helpers: Helpers) -> None:
        self._schedule, self._curve, self._kernels, self._helpers = schedule, (a, b), kernels, helpers
        n = schedule.n
        row = np.concatenate([schedule.head, schedule.tail]) + np.tile(schedule.batch, 2) * np.int64(n)
        order = np.argsort(row, kind="stable")
        ends = np.stack([schedule.head, schedule.tail])
        self._ends = np.take(np.hstack([ends, ends[::-1]]), order, axis=1)
        self._weights = np.take(np.tile(np.stack([schedule.weight, schedule.phase]), 2), order, axis=1)
        begins = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n * _BATCHES))]).astype(np.int32)
        self._begins = [begins[n * batch : n * (batch + 1) + 1].copy() for batch in range(_BATCHES)]
        bounds = np.linspace(0, n, 1 + (_CHUNKS if n >= _SHARED_FROM else 1)).astype(int).tolist()
        self._parts = list(pairwise(bounds))

    def step(self, y: np.ndarray, iteration: int, rate: float) -> np.ndarray:
        """Return the positions (dims × n, float32) after an iteration."""
        schedule = self._schedule
        shuffled = np.empty((len(y), 2 * schedule.n), np.float32)
        order, offsets = schedule.samples(iteration)
        for begins, starts in zip(self._begins, offsets, strict=True):
            self._kernels.shuffle(y, order, shuffled)
            moved = np.empty_like(y)
            move = partial(
                self._kernels.move, y, moved, begins, self._ends, self._weights, iteration,
                shuffled, starts, schedule.push_rates, *self._curve, rate, _CLIP,
            )  # fmt: skip
            if len(self._parts) == 1:
                move(*self._parts[0])
            else:
                self._helpers.share([partial(move, *part) for part in self._parts], lambda: None)
            y = moved
        return y


class TorchForces:
    """The same forces by whole-array operations, where nothing is compiled."""

    def __init__(self, schedule: Schedule, a: float, b: float) -> None:
        self._schedule, self._a, self._b = schedule, a, b
        self._push_rates = torch.from_numpy(schedule.push_rates)
        order = np.argsort(schedule.batch, kind="stable")
        bounds = np.searchsorted(schedule.batch[order], np.arange(_BATCHES + 1))
        self._edges = [
            tuple(
                torch.from_numpy(table[order[begin:end]])
                for table in (schedule.head, schedule.tail, schedule.weight, schedule.phase)
            )
            for begin, end in pairwise(bounds)
        ]

    def step(self, y: np.ndarray, iteration: int, rate: float) -> np.ndarray:
        """Return the positions (dims × n, float32) after an iteration."""
        order, offsets = self._schedule.samples(iteration)
        moved = torch.from_numpy(y.copy())
        for (head, tail, weight, phase), starts in zip(self._edges, offsets.tolist(), strict=True):
            due = phase + weight * iteration
            pulls = (due + weight).floor() - due.floor()
            active = pulls.nonzero().flatten()
            self._attract(moved, head[active], tail[active], pulls[active] * rate, _CLIP * rate)
            self._repel(moved, torch.from_numpy(order), starts, rate)
        return moved.numpy()

    def _attract(self, y: Tensor, head: Tensor, tail: Tensor, rates: Tensor, limit: float) -> None:
        differences = y.index_select(1, head) - y.index_select(1, tail)
        squared, power = self._pow_b(differences)
        force = differences.mul_(rates * power / (squared * (1 + power)) * (-2 * self._b)).clamp_(-limit, limit)
        y.index_add_(1, head, force).index_add_(1, tail, force, alpha=-1)

    def _repel(self, y: Tensor, order: Tensor, starts: list[int], rate: float) -> None:
        n = y.shape[1]
        shuffled = y.index_select(1, order).repeat(1, 2)
        differences = y[:, None] - torch.stack([shuffled[:, start : start + n] for start in starts], 1)
        squared, power = self._pow_b(differences)
        force = differences.mul_(2 * self._b / ((squared + 0.001) * (1 + power))).clamp_(-_CLIP, _CLIP)
        y.addcmul_(force.sum(1), self._push_rates, value=rate)

    def _pow_b(self, differences: Tensor) -> tuple[Tensor, Tensor]:
        """Return |d|² and a |d|^2b."""
        squared = differences.square().sum(0).clamp_(min=1e-12)
        return squared, squared.log().mul_(self._b).exp_().mul_(self._a)


def load_kernels() -> ModuleType:
    """Import the kernels: for `compiled`."""
    from dmlviz.projection import umap_kernels

    return umap_kernels
