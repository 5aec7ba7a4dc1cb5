"""Limits layouts to one thread, where several threads would mostly wait for each other."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import faiss
import torch

_MIN_POINTS_FOR_THREADS = 20_000  # from here on the neighbor search is long enough to gain from threads
_lock = threading.Lock()
_num_running = 0
_saved_counts = (1, 1)  # threads of torch and of FAISS, before the first layout


@contextmanager
def one_thread(n: int) -> Iterator[None]:
    """Limit torch, and below 20,000 points FAISS too, to one thread; restore the caller's numbers at the end.

    An iteration of a layout is about fifty small operations. On several threads, each operation ends with the slowest
    thread; if another process uses that thread's core, all wait: measured, ten times as long. Torch has one number for
    the whole process, so that of several concurrent calls the first one saves it.
    """
    global _num_running, _saved_counts
    with _lock:
        if _num_running == 0:
            _saved_counts = torch.get_num_threads(), faiss.omp_get_max_threads()
        _num_running += 1
        saved = _saved_counts
    try:
        torch.set_num_threads(1)
        if n < _MIN_POINTS_FOR_THREADS:
            faiss.omp_set_num_threads(1)
        yield
    finally:
        with _lock:
            _num_running -= 1
            torch.set_num_threads(saved[0])
            faiss.omp_set_num_threads(saved[1])
