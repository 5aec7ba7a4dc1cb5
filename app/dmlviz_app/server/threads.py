"""Threads in which routes wait: some for the worker that answers questions, many for everything else.

The worker answers one question at a time, and the first only when it has imported everything. If its questions shared
the threads of everything else, the few that one page asks would hold up every event stream and every check of who may
ask. Python's own number of threads, four more than there are cores, is too few for a class in any case.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_QUESTIONS = 8  # that wait at once; answers that are kept need a thread, too
MAX_THREADS = 32

_questions = ThreadPoolExecutor(MAX_QUESTIONS, "question")


def enlarge_thread_pool() -> None:
    """Give this event loop's `asyncio.to_thread` as many threads as a class needs."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MAX_THREADS, "route"))


async def ask_worker(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a function returns that asks the worker, as `asyncio.to_thread`, but in the threads of questions.

    Args:
        function: Asks the worker, or has its answer kept.
        *args: Its arguments.
        **kwargs: Its keyword arguments.
    """
    call = partial(copy_context().run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_questions, call)
