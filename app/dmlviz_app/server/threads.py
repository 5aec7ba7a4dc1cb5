"""Questions of routes to the worker that answers them: a number at a time, the others wait without a thread.

The worker answers one question at a time, and the first only when it has imported everything. If all its questions took
threads, the few that one page asks would hold up every event stream and every check of who may ask. Python's own number
of threads, four more than there are cores, is too few for a class in any case.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor  # noqa: TID251  (the threads of routes: none outlasts its request)
from typing import ParamSpec, TypeVar

from starlette.requests import Request

from dmlviz.errors import UserError
from dmlviz_app.server.answers import LOOK_S, Turns

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 32
MAX_QUESTIONS = 8  # in threads at once; answers that are kept need a thread, too
MAX_OF_PERSON, MAX_OF_ALL = 16, 200  # that wait
ASKERS = Turns(MAX_OF_PERSON, MAX_OF_ALL)

_places = asyncio.Semaphore(MAX_QUESTIONS)


def enlarge_thread_pool() -> None:
    """Give this event loop's `asyncio.to_thread` as many threads as a class needs."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MAX_THREADS, "route"))


async def ask_worker(request: Request, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a function returns that asks the worker, as `asyncio.to_thread`, when it is its turn.

    Args:
        request: The request of the person who waits.
        function: Asks the worker, or has its answer kept.
        *args: Its arguments.
        **kwargs: Its keyword arguments.

    Raises:
        BusyError: If this person, or all, ask a lot already.
        UserError: As the function does, or if the reader is gone before its turn.
    """
    person = request.state.services.person.id
    with ASKERS.of(person, "You have asked a lot at once; ask again when the answers are here."):
        while True:
            try:
                await asyncio.wait_for(_places.acquire(), LOOK_S)
                break
            except TimeoutError:
                if await request.is_disconnected():
                    raise UserError("The reader is gone.") from None
        try:
            return await asyncio.to_thread(function, *args, **kwargs)
        finally:
            _places.release()
