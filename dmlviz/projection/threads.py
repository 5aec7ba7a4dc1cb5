"""Threads of layouts: libraries compute on one, and compiled loops share points out where others are free."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

import faiss
import torch

from dmlviz.ops.squared_distances import available_cores, granted_threads
from dmlviz.ops.torch_state import own_state

Result = TypeVar("Result")

_lock = threading.Lock()
_num_running = 0
_saved_counts = (1, 1)  # threads of torch and of FAISS, before the first layout


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch and FAISS to one thread, with torch's own defaults; restore the caller's at the end.

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
        faiss.omp_set_num_threads(1)
        with own_state():
            yield
    finally:
        with _lock:
            _num_running -= 1
            torch.set_num_threads(saved[0])
            faiss.omp_set_num_threads(saved[1])


class Helpers:
    """Threads that do pieces of work beside the calling one, which never waits for a thread that has not begun.

    Their number is what `use_threads` grants, at most one per core.
    """

    def __init__(self) -> None:
        self._count = min(granted_threads(), available_cores()) - 1
        self._pool = ThreadPoolExecutor(self._count) if self._count > 0 else None

    def __enter__(self) -> "Helpers":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def share(self, pieces: Iterable[Callable[[], Any]], meanwhile: Callable[[], Result]) -> Result:
        """Do `meanwhile` here and the pieces on any thread, in any order; return the result of `meanwhile`.

        A piece must write to no place that another one reads or writes.
        """
        left = iter(list(pieces))  # taking the next of a list's items cannot be interrupted

        def work() -> None:
            for piece in left:
                piece()

        futures = [] if self._pool is None else [self._pool.submit(work) for _ in range(self._count)]
        result = meanwhile()
        work()
        wait([future for future in futures if not future.cancel()])
        for future in futures:
            if not future.cancelled():
                future.result()
        return result
