"""Cooperative Ctrl-C handling."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stop_on_interrupt(on_interrupt: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after Ctrl-C; a second Ctrl-C raises KeyboardInterrupt.

    Args:
        on_interrupt: Called once, at the first Ctrl-C.
    """
    is_interrupted = False

    def handle(_number: int, _frame: Any) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        on_interrupt()

    previous_handler = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: is_interrupted
    finally:
        signal.signal(signal.SIGINT, previous_handler)
