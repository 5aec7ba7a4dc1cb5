"""One pass over all distances between queries and gallery, in chunks: n × n is never held at once.

Measured on two cores, 10,000 × 64 against themselves with the 1,044 nearest of each: FAISS 1.7 s, torch matmul
and topk 1.2 s, NumPy matmul with partition and sort of packed keys (retrieval.py) 0.3 s.
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

Visit = Callable[[slice, np.ndarray], None]
_ROWS, _MOST = 64, 1 << 20  # of a chunk: what stays in the cache on its way through the visits, measured


def sweep(queries: np.ndarray, gallery: np.ndarray, visit: Visit, threads: int | None = None) -> None:
    """Call `visit(rows, squared)` for consecutive rows of queries; `squared` holds their squared distances (b × n).

    Visits come in any order, from `threads` threads: as many as torch was given, where torch is loaded, otherwise
    one per core. Points are used as they are: see `conditioned`.
    """
    step = max(1, min(_ROWS, _MOST // len(gallery)))
    chunks = [slice(start, min(start + step, len(queries))) for start in range(0, len(queries), step)]
    gallery_norms = np.einsum("nd,nd->n", gallery, gallery)
    query_norms = np.einsum("nd,nd->n", queries, queries)
    doubled = np.ascontiguousarray((-2 * gallery).T)

    def work(rows: slice) -> None:
        squared = queries[rows] @ doubled
        squared += gallery_norms
        squared += query_norms[rows, None]
        np.maximum(squared, 0, out=squared)
        visit(rows, squared)

    workers = min(threads or available_threads(), len(chunks))
    with blas_on_one_thread():
        if workers <= 1:
            for rows in chunks:
                work(rows)
        else:
            with ThreadPoolExecutor(workers) as pool:
                for _ in pool.map(work, chunks):
                    pass


def blas_on_one_thread() -> AbstractContextManager[object]:
    """Keep NumPy's BLAS on one thread for a while: below threads of ours its own spin, at up to five times the cost."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def conditioned(queries: np.ndarray, gallery: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Move and scale finite points so that squared distances lose no digits; also return the unit that was taken out.

    The scale is a power of two and the centre the gallery's median, so that points on a grid stay on a grid and equal
    distances stay equal. A far outlier or an offset of all points costs nothing.
    """
    unit = 1.0
    for centre in (False, True):
        if centre:
            middle = np.median(gallery, axis=0)
            same, gallery = queries is gallery, gallery - middle
            queries = gallery if same else queries - middle
        size = max(float(np.abs(queries).max()), float(np.abs(gallery).max()))
        if size > 0:
            scale = 2.0 ** np.frexp(size)[1]
            unit *= scale
            same, gallery = queries is gallery, (gallery / scale).astype(gallery.dtype)
            queries = gallery if same else (queries / scale).astype(queries.dtype)
    return queries, gallery, unit


def available_threads() -> int:
    """As many threads as torch was given, where it is loaded; otherwise the cores this process may use."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):
        return int(torch.get_num_threads())
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
