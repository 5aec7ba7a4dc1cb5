"""On how many threads a map is computed: one, where several would wait for each other more than they work."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import faiss
import torch

_MANY = 20_000  # points, from which on the search for neighbors is long enough to be shared out
_change = threading.Lock()
_under_way = 0
_usual = (1, 1)


@contextmanager
def one_thread(n: int) -> Iterator[None]:
    """Let torch, and below 20,000 points FAISS too, compute on one thread; then give the caller's numbers back.

    An iteration of a layout is some fifty small operations. On several threads each of them ends when the last thread
    has come, and where another process has that thread's core, they all wait for it: ten times as long, measured.
    Torch keeps its number for the whole process, so that of several calls at a time the first one notes what was usual.
    """
    global _under_way, _usual
    with _change:
        if _under_way == 0:
            _usual = torch.get_num_threads(), faiss.omp_get_max_threads()
        _under_way += 1
        usual = _usual
    try:
        torch.set_num_threads(1)
        if n < _MANY:
            faiss.omp_set_num_threads(1)
        yield
    finally:
        with _change:
            _under_way -= 1
            torch.set_num_threads(usual[0])
            faiss.omp_set_num_threads(usual[1])
