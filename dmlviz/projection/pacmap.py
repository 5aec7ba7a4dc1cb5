"""PaCMAP (Wang, Huang, Rudin, Shaposhnik 2021) and LocalMAP (Wang, Sun, Huang, Rudin 2025) with intermediate frames.

Pairs, losses, weights and optimizer are the authors'. Neighbors are exact, and all random choices are drawn so that a
point is drawn by as many others as it draws.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from dmlviz.config import ProjectionConfig
from dmlviz.ops.ball import curvature_of
from dmlviz.ops.compiled import compiled
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.neighbor_index import NeighborTable
from dmlviz.ops.squared_distances import squared_differences
from dmlviz.projection.euclidean_form import nearest_others, prepare
from dmlviz.projection.out_of_sample import REACH
from dmlviz.projection.registry import REGISTRY, Layout, Method, Request
from dmlviz.projection.threads import Helpers, one_thread

_MOST_DIMENSIONS = 100  # of embeddings of more, the first principal components are taken
_EXTRA = 50  # nearest points beyond the wanted ones, among which scaled distances choose
_SAMPLE = 6  # points, of which the second nearest is mid-near
_NEAR, _MID, _FURTHER = 10.0, 10_000.0, 1.0  # c of the losses d / (c + d); of further pairs 1 / (1 + d)
_EARLY = 100  # iterations of each of the first two phases, at most 2/9 of all
_MEAN, _SQUARE = 0.9, 0.999  # decay of Adam's moments
_USUAL_SQUARE = 0.05  # of a gradient in the last phase
_LATER_RATE, _LATER_SQUARE = 0.2, 0.99  # of a live map
_GATHERING = 0.3  # share of a live update in the second phase: points that the net has moved far catch up
_SHARED_FROM = 4_000  # points, from which on an iteration is long enough to be divided among threads
_CHUNKS = 16
_TRIES = 1_000  # points met to find those
_REDRAWN = 10  # iterations between two draws, and between two questions whether to stop


class Weights(NamedTuple):
    """Weights of the neighbor, mid-near and further pairs in an iteration."""

    near: float
    mid: float
    further: float


def weights_at(iteration: int, iterations: int) -> Weights:
    """Return the weights of an iteration: first for the large picture, then for both, at last for the neighbors."""
    early = _early(iterations)
    if iteration < early:
        return Weights(2, 1000 + (3 - 1000) * iteration / early, 1)
    return Weights(3, 3, 1) if iteration < 2 * early else Weights(1, 0, 1)


def _early(iterations: int) -> int:
    return min(_EARLY, iterations * 2 // 9)


class Pairs(NamedTuple):
    """The points that each point is paired with.

    Attributes:
        near: Neighbors, n × k.
        mid: Mid-near points, n × m.
        further: Further points, n × f.
    """

    near: np.ndarray
    mid: np.ndarray
    further: np.ndarray


def choose_pairs(
    points: np.ndarray, table: NeighborTable, neighbors: int, mid_near_ratio: float, further_ratio: float, seed: int
) -> Pairs:
    """Choose the pairs of points (n × d, of Euclidean distance), whose nearest others are in the table."""
    n, random = len(points), np.random.default_rng(seed)
    near = nearest_scaled(table.indices, table.distances, neighbors)
    mid = mid_near(points, round(neighbors * mid_near_ratio), random)
    wanted = max(1, round(neighbors * further_ratio))
    order, starts = _order(n, random, near.shape[1] + wanted)
    met = order[np.argsort(order[:n])[:, None] + starts]  # n × (k + f): at most k of them are neighbors
    is_near = np.zeros(met.shape, bool)
    for column in near.T:
        is_near |= met == column[:, None]
    count = min(wanted, max(1, n - 1 - near.shape[1]))
    further = np.take_along_axis(met, np.argsort(is_near, axis=1, kind="stable")[:, :count], axis=1)
    return Pairs(near, mid, np.ascontiguousarray(further, np.int32))


def nearest_scaled(indices: np.ndarray, distances: np.ndarray, neighbors: int) -> np.ndarray:
    """Return the k nearest (n × k) of each point's nearest others (n × more) by d²/(σ_i σ_j).

    σ is the mean distance to the fourth to sixth neighbor.
    """
    apart = distances.astype(np.float64)
    last = min(6, apart.shape[1])
    scale = apart[:, max(0, last - 3) : last].mean(axis=1)
    scale = np.maximum(scale, 1e-10 * scale.max() or 1.0)
    scaled = np.square(apart / scale.max()) / ((scale / scale.max())[:, None] * (scale / scale.max())[indices])
    chosen = np.argsort(scaled, axis=1, kind="stable")[:, :neighbors]
    return np.ascontiguousarray(np.take_along_axis(indices, chosen, axis=1), np.int32)


def mid_near(points: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """Return mid-near points (n × count): each is the second nearest of six others drawn by chance."""
    n = len(points)
    order, starts = _order(n, random, _SAMPLE * count)
    sample = min(_SAMPLE, n - 1)
    starts = np.resize(starts, (count, sample))
    place, found, is_ball = np.argsort(order[:n]), np.empty((n, count), np.int32), curvature_of(points) > 0
    block = max(1, (1 << 22) // (sample * points.shape[1]))
    for number, part in ((number, slice(at, at + block)) for number in range(count) for at in range(0, n, block)):
        drawn = order[place[part, None] + starts[number]]
        if is_ball:
            first = np.repeat(np.arange(n)[part], sample)
            squared = squared_differences(points, points, first, drawn.ravel()).reshape(drawn.shape)
        else:
            squared = np.square(points[drawn] - points[part, None]).sum(axis=2)
        second = np.argsort(squared, axis=1, kind="stable")[:, min(1, sample - 1)]
        found[part, number] = np.take_along_axis(drawn, second[:, None], axis=1)[:, 0]
    return found


def _order(n: int, random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of the points, twice in a row, and up to `count` different offsets: each meets those there."""
    return np.tile(random.permutation(n), 2), 1 + random.permutation(n - 1)[:count]


class Forces:
    """The gradient of all pairs, compiled where that is possible, and Adam's steps down it.

    Args:
        pairs: The pairs.
        iterations: Number of iterations of the whole map, from which the phases follow.
        seed: Seed of further points that are drawn anew.
        is_local: Whether to adjust the graph to the map in the last phase, as LocalMAP does.
        helpers: Threads beside this one.
    """

    def __init__(self, pairs: Pairs, iterations: int, seed: int, is_local: bool, helpers: Helpers) -> None:
        self._pairs, self._iterations, self._seed, self._is_local = pairs, iterations, seed, is_local
        self._helpers, self._kernels, n = helpers, compiled(load_kernels), len(pairs.near)
        self._graphs = [_both_ways(one) for one in pairs]
        bounds = np.linspace(0, n, 1 + (_CHUNKS if n >= _SHARED_FROM else 1)).astype(int).tolist()
        self._parts = list(pairwise(bounds))

    def gradient(self, y: np.ndarray, iteration: int) -> np.ndarray:
        """Return the gradient at positions (dims × n, float32) with the weights of an iteration."""
        near, mid, further = weights_at(iteration, self._iterations)
        is_local = self._is_local and iteration >= 2 * _early(self._iterations)
        kinds = [
            (*self._graphs[0], _NEAR, near, REACH / 2 if is_local else 0.0),
            (*self._graphs[1], _MID, mid, 0.0),
            (*self._graphs[2], _FURTHER, -further, 0.0),
        ]
        kinds = [kind for kind in kinds if kind[4] and len(kind[1])]
        gradient = np.zeros_like(y)
        if self._kernels is None:
            for kind in kinds:
                gradient += _pull(y, *kind)
        else:
            self._share(partial(self._pull, self._kernels, y, kinds, gradient))
        return gradient

    def step(
        self, y: np.ndarray, moments: np.ndarray, iteration: int, rate: float, decay: float = _SQUARE
    ) -> np.ndarray:
        """Return the positions (dims × n, float32) after an iteration; Adam's moments (2 × dims × n) are changed."""
        if self._is_local and iteration % _REDRAWN == 0 and iteration >= 2 * _early(self._iterations):
            self._graphs[2] = _both_ways(self._nearby(y, iteration))
        gradient, (mean, square) = self.gradient(y, iteration), moments
        mean += np.float32(1 - _MEAN) * (gradient - mean)
        square += np.float32(1 - decay) * (gradient * gradient - square)
        rate *= np.sqrt(1 - decay ** (iteration + 1)) / (1 - _MEAN ** (iteration + 1))
        moved: np.ndarray = y - np.float32(rate) * mean / (np.sqrt(square) + np.float32(1e-7))
        return moved

    def _share(self, work: Callable[[int, int], None]) -> None:
        self._helpers.share([partial(work, *part) for part in self._parts], lambda: None)

    @staticmethod
    def _pull(
        kernels: ModuleType, y: np.ndarray, kinds: list[tuple[Any, ...]], gradient: np.ndarray, start: int, stop: int
    ) -> None:
        for kind in kinds:
            kernels.pull(y, *kind, gradient, start, stop)

    def _nearby(self, y: np.ndarray, iteration: int) -> np.ndarray:
        """Return further points (n × f) within reach on the map; where too few are met, those of before."""
        near, _, further = self._pairs
        random = np.random.Generator(np.random.Philox(key=[self._seed, iteration]))
        order, starts = _order(len(near), random, _TRIES)
        drawn = further.copy()
        if self._kernels is not None:
            self._share(partial(self._kernels.draw_nearby, y, order, starts, near, REACH, drawn))
            return drawn
        rows, found = np.arange(len(near)), np.zeros(len(near), int)
        for start in starts:
            i, j = order[rows], order[rows + start]
            is_taken = (np.square(y[:, i] - y[:, j]).sum(axis=0) <= REACH**2) & (near[i] != j[:, None]).all(axis=1)
            drawn[i[is_taken], found[i[is_taken]]] = j[is_taken]
            found[i[is_taken]] += 1
            rows = rows[found[i] < further.shape[1]]
        return drawn


def _both_ways(others: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the pairs of each point begin (n + 1), the other points, and how often each pair was chosen."""
    n, count = others.shape
    chosen = csr_matrix((np.ones(others.size, np.float32), others.ravel(), np.arange(n + 1) * count), (n, n))
    both = chosen + chosen.T
    return both.indptr.astype(np.int32), both.indices.astype(np.int32), both.data


def _pull(
    y: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    counts: np.ndarray,
    constant: float,
    weight: float,
    local: float,
) -> np.ndarray:
    """Return what the kernel `pull` adds to the gradient, where nothing is compiled."""
    own = np.repeat(np.arange(y.shape[1]), np.diff(indptr))
    differences = y[:, own] - y[:, indices]
    d = 1 + np.square(differences).sum(axis=0)
    forces = 2 * weight * constant * counts / np.square(constant + d) * (local / np.sqrt(d) if local else 1)
    return np.stack([np.bincount(own, forces * along, y.shape[1]) for along in differences]).astype(np.float32)


def initial_layout(points: np.ndarray, dims: int, seed: int) -> np.ndarray:
    """Return the points' PCA scaled to a standard deviation of 0.01, with 1% noise, so that equal points separate."""
    flat = LinearProjection.joint_pca([points], range(1, dims + 1)).project(points)
    size = float(flat[:, 0].std())
    noise = np.random.default_rng(seed).standard_normal(flat.shape)
    return (0.01 * (flat / (size if size > 0 else 1.0) + 0.01 * noise)).astype(np.float32)


@REGISTRY.register("pacmap")
class PaCMAP(Method):
    """PaCMAP as this module computes it."""

    updates = (450, 40)
    is_local = False

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the layout; from a start other than a stopped layout by the last phase alone."""
        config, frames, done = request.config, request.frames, request.begun
        total = config.params["iterations"]
        if request.start is not None and not done:
            done = 2 * _early(total)
        with one_thread(), Helpers() as helpers:
            points = _reduced(rows, config)
            start = initial_layout(points, config.dims, config.seed) if request.start is None else request.start
            start = np.asarray(start, np.float32)
            frames.report(done, total, None, start)
            table, forces = self._forces(points, config, helpers, frames.raise_if_stopped)
            frames.raise_if_stopped()
            y, moments = _in_columns(start, request.momentum, request.start is not None)
            while done < total and not (done % _REDRAWN == 0 and frames.should_stop()):
                y = forces.step(y, moments, done, 1.0)
                done += 1
                if frames.is_due() and done < total:
                    frames.report(done, total, None, y.T.copy())
            frames.report(done, total, None, y.T.copy())
        return _layout(y, moments, done, table, rows)

    def follow(
        self,
        rows: np.ndarray,
        config: ProjectionConfig,
        begun: Layout | None,
        frames: Iterable[Iterator[float]],
        labels: np.ndarray | None,
        device: str,
    ) -> Iterator[Layout]:
        """Go on; once the phases are over, more slowly."""
        points = _reduced(rows, config)
        start = initial_layout(points, config.dims, config.seed) if begun is None else begun.coordinates
        done, momentum = (0, None) if begun is None else (begun.iterations, begun.momentum)
        y, moments = _in_columns(start, momentum, done > 0)
        with one_thread(), Helpers() as helpers:
            table, forces = self._forces(points, config, helpers)
            for turns in frames:
                for share in turns:
                    if done < self.updates[0]:
                        y = forces.step(y, moments, done, 1.0)
                    else:
                        phase = 2 * _early(config.params["iterations"]) - 1 if share < _GATHERING else done
                        y = forces.step(y, moments, phase, _LATER_RATE * (1 - share), _LATER_SQUARE)
                    done += 1
                yield _layout(y, moments, done, table, rows)

    def _forces(
        self,
        points: np.ndarray,
        config: ProjectionConfig,
        helpers: Helpers,
        go_on: Callable[[], None] = lambda: None,
    ) -> tuple[NeighborTable, Forces]:
        params = config.params
        table = nearest_others(points, min(len(points) - 1, params["neighbors"] + _EXTRA), go_on)
        ratios = params["mid_near_ratio"], params["further_ratio"]
        pairs = choose_pairs(points, table, params["neighbors"], *ratios, config.seed)
        return table, Forces(pairs, params["iterations"], config.seed, self.is_local, helpers)


@REGISTRY.register("localmap")
class LocalMAP(PaCMAP):
    """LocalMAP: in the last phase further points are drawn nearby, and near pairs pull less where they are far."""

    is_local = True


def load_kernels() -> ModuleType:
    """Import the kernels: for `compiled`."""
    from dmlviz.projection import pacmap_kernels

    return pacmap_kernels


def _reduced(rows: np.ndarray, config: ProjectionConfig) -> np.ndarray:
    points = prepare(rows, config.params["metric"])
    if points.shape[1] <= _MOST_DIMENSIONS or curvature_of(points):
        return points
    axes = range(1, _MOST_DIMENSIONS + 1)
    return np.asarray(LinearProjection.joint_pca([points], axes).project(points), points.dtype)


def _in_columns(start: np.ndarray, momentum: np.ndarray | None, has_moved: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (dims × n) and Adam's moments (2 × dims × n); where a map goes on without any, for no jump."""
    y = np.ascontiguousarray(start.T)
    if momentum is None:
        return y, np.stack([np.zeros_like(y), np.full_like(y, _USUAL_SQUARE if has_moved else 0)])
    return y, momentum.transpose(0, 2, 1).copy()


def _layout(y: np.ndarray, moments: np.ndarray, done: int, table: NeighborTable, rows: np.ndarray) -> Layout:
    momentum = np.ascontiguousarray(moments.transpose(0, 2, 1))
    as_given = rows.shape[1] <= _MOST_DIMENSIONS or curvature_of(rows)
    near = table.first(10) if as_given else None  # those of the components are others
    return Layout(y.T.copy(), None, done, momentum=momentum, neighbors=near)
