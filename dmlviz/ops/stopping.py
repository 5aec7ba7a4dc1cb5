"""Cooperative cancellation of long computations, checked between chunks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class WorkStoppedError(Exception):
    """Raised inside `stoppable` between two chunks of a computation that was asked to stop."""


_stop: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


@contextmanager
def stoppable(stop: Callable[[], bool] | None) -> Iterator[None]:
    """Let computations inside end with a WorkStoppedError as soon as `stop` returns True; with None they never do."""
    token = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(token)


def stop_check() -> Callable[[], None]:
    """Return a function that raises WorkStoppedError when the caller of this was asked to stop.

    Ask for it before the work is handed to threads: they do not know what is around their caller.
    """
    stop = _stop.get()

    def check() -> None:
        if stop is not None and stop():
            raise WorkStoppedError

    return check
