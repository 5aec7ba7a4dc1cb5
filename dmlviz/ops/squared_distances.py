"""Exact squared distances between queries and gallery, in chunks: the m × n matrix is never in memory at once.

Measured on two cores, 10,000 × 64 against themselves with the 1,044 nearest of each: FAISS 1.7 s, torch matmul
and topk 1.2 s, NumPy matmul with partition and sort of packed keys (retrieval.py) 0.3 s; in double precision, so that
near distances are right too, 0.2 s more.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from dmlviz.ops.ball import curvature_of, from_shares, in_ball, room
from dmlviz.ops.stopping import stop_check

ChunkVisitor = Callable[[slice, np.ndarray], None]
# Measured: up to 10,000 columns such a chunk stays in the cache. With 17 rows of 60,000 a product packs its columns too
# often: 21 GFLOP/s a core, not 38, at d = 64, and 26, not 41, at 784; a ranking took 16 to 25% longer.
_CHUNK_ROWS, _MAX_CHUNK_ENTRIES = 64, 1 << 22
_MAX_DIFFERENCES = 1 << 15  # numbers in memory at a time
_NEAR = 2.0**-24  # of the squared norms: below this, even float64 leaves too few digits of |a|² − 2ab + |b|²


class SquaredDistances:
    """Squared distances from queries to a gallery, accurate for very near points too: Euclidean, or those of a ball.

    Most come from a matrix product in float64, near ones from differences. Equal gallery points have bit-identical
    distances. Points are used as they are; `rescale` prepares points with a large offset or scale.

    Args:
        queries: Queries (m × d), finite.
        gallery: Gallery (n × d), finite.
        kind: Type of the results.

    Examples:
        >>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
        >>> SquaredDistances(points, points, np.dtype(np.float32)).of(slice(0, 1)).tolist()
        [[0.0, 25.0]]
    """

    def __init__(self, queries: np.ndarray, gallery: np.ndarray, kind: np.dtype) -> None:
        self.curvature = curvature_of(queries, gallery)
        self.queries, gallery = np.asarray(queries, np.float64), np.asarray(gallery, np.float64)
        first, self._column = np.unique(first_of_equals(gallery), return_inverse=True)
        self.gallery = gallery[first]
        self.kind = kind
        self.query_norms, self.gallery_norms = _squares(self.queries), _squares(self.gallery)
        if self.curvature:
            self._rooms = room(self.queries, self.curvature), room(self.gallery, self.curvature)
        m, n = len(self.queries), len(self.gallery)
        # With the norms inside the product, two passes over its result are saved.
        self._left = np.concatenate([self.queries, np.ones((m, 1)), self.query_norms[:, None]], axis=1)
        self._right = np.concatenate([-2 * self.gallery.T, self.gallery_norms[None], np.ones((1, n))])

    def of(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return the squared distances of some queries to the whole gallery (rows × n), as a new array."""
        product = self._left[rows] @ self._right
        squared = product.astype(np.float64 if self.curvature else self.kind, copy=False)
        self._refine(squared, self.queries[rows], self.query_norms[rows])
        if self.curvature:
            squared /= self._rooms[0][rows, None] * self._rooms[1]
            squared = from_shares(squared, self.curvature).astype(self.kind)
        return squared if len(self._column) == len(self.gallery) else np.take(squared, self._column, axis=1)

    def _refine(self, squared: np.ndarray, queries: np.ndarray, norms: np.ndarray) -> None:
        """Recompute near pairs from differences, and with them all negative results of the product."""
        limit = (_NEAR * (norms + self.gallery_norms.max())).astype(squared.dtype)
        row, column = np.divmod(np.flatnonzero(squared <= limit[:, None]), squared.shape[1])
        near = squared[row, column] <= _NEAR * (norms[row] + self.gallery_norms[column])
        row, column = row[near], column[near]
        squared[row, column] = squared_differences(queries, self.gallery, row, column)


def for_each_distance_chunk(
    queries: np.ndarray, gallery: np.ndarray, kind: np.dtype, visit: ChunkVisitor, threads: int | None = None
) -> None:
    """Call `visit` for every chunk of the distance matrix, in any order, from several threads.

    Args:
        queries: Queries (m × d), finite.
        gallery: Gallery (n × d), finite.
        kind: Type of the distances.
        visit: Called as `visit(rows, squared)`, with a slice of the queries and their squared distances (rows × n).
        threads: Number of threads; by default that of torch if it is loaded, else one per core.
    """
    distances = SquaredDistances(queries, gallery, kind)
    for_each_chunk(len(queries), len(gallery), lambda rows: visit(rows, distances.of(rows)), threads)


def for_each_chunk(m: int, n: int, visit: Callable[[slice], None], threads: int | None = None) -> None:
    """Call `visit` for every slice of the rows of an m × n matrix, in any order, from several threads.

    Args:
        m: Number of rows.
        n: Number of columns.
        visit: Called with a slice of at most 64 rows.
        threads: Number of threads; by default that of torch if it is loaded, else one per core.

    Raises:
        WorkStoppedError: Inside `stoppable`, when asked to stop.
    """
    step = max(1, min(_CHUNK_ROWS, _MAX_CHUNK_ENTRIES // n))
    chunks = [slice(start, min(start + step, m)) for start in range(0, m, step)]
    workers = min(threads or available_threads(), len(chunks))
    check = stop_check()

    def visit_unless_stopped(rows: slice) -> None:
        check()
        visit(rows)

    with single_threaded_blas():
        if workers <= 1:
            for rows in chunks:
                visit_unless_stopped(rows)
        else:
            with ThreadPoolExecutor(workers) as pool:
                for _ in pool.map(visit_unless_stopped, chunks):
                    pass


def squared_differences(a: np.ndarray, b: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the squared distances of the pairs (a[first], b[second]), computed in blocks that stay in the cache."""
    squared = np.empty(len(first))
    step = max(1, _MAX_DIFFERENCES // a.shape[1])
    for start in range(0, len(first), step):
        block = slice(start, start + step)
        squared[block] = _squares(a[first[block]] - b[second[block]])
    if curvature := curvature_of(a, b):
        squared /= room(a, curvature)[first] * room(b, curvature)[second]
        return from_shares(squared, curvature)
    return squared


def first_of_equals(points: np.ndarray) -> np.ndarray:
    """Return, for each row of points (n × d, float64), the index of the first row equal to it."""
    bits = (points + 0.0).view(np.uint64)  # −0 and 0 are equal, but differ in their bits
    odd = np.random.default_rng(0).integers(2**63, size=points.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = bits ^ (bits >> np.uint64(32))  # few digits leave the low bits 0, and a product never carries downwards
    hashes = (mixed * odd).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    candidate = first[group]
    return np.where((points[candidate] == points).all(axis=1), candidate, np.arange(len(points)))


def single_threaded_blas() -> AbstractContextManager[object]:
    """Limit NumPy's BLAS to one thread; inside our own threads, BLAS threads cost up to five times as much."""
    limit: AbstractContextManager[object] = _loaded_blas().limit(limits=1, user_api="blas")
    return limit


@cache
def _loaded_blas() -> ThreadpoolController:
    return ThreadpoolController()


def rescale(queries: np.ndarray, gallery: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Center and scale finite points, so that squared distances lose no digits to an offset or a far outlier.

    The center is the gallery's median and the scale a power of two: points on a grid stay on a grid, and equal
    distances stay equal. Points of a ball stay where they are.

    Args:
        queries: Queries (m × d).
        gallery: Gallery (n × d).

    Returns:
        Queries and gallery in float64, and the unit by which to multiply their distances.
    """
    same, gallery, curvature = queries is gallery, gallery.astype(np.float64), curvature_of(queries, gallery)
    queries = gallery if same else queries.astype(np.float64)
    unit = 1.0
    if curvature:
        return in_ball(queries, curvature), in_ball(gallery, curvature), unit
    for center in (False, True):
        if center:
            median = np.median(gallery, axis=0)
            gallery = gallery - median
            queries = gallery if same else queries - median
        size = max(float(np.abs(queries).max()), float(np.abs(gallery).max()))
        if size > 0:
            scale = 2.0 ** np.frexp(size)[1]
            unit *= scale
            gallery = gallery / scale
            queries = gallery if same else queries / scale
    return queries, gallery, unit


_threads: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Let `available_threads` return `count` inside, regardless of torch's number of threads."""
    token = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(token)


def granted_threads() -> int:
    """Return the number that `use_threads` set; 1 outside it."""
    return _threads.get() or 1


def available_threads() -> int:
    """Return the number of threads to compute distances with.

    It is that of `use_threads`, else torch's if torch is loaded, else the number of cores available to this process.
    """
    if (count := _threads.get()) is not None:
        return count
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):
        return int(torch.get_num_threads())
    return available_cores()


def available_cores() -> int:
    """Return the number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("nd,nd->n", rows, rows))
