"""What Ctrl-C does to work that can be stopped politely."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stop_on_interrupt(say: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Give a function that is true after Ctrl-C, which calls `say`; a second Ctrl-C interrupts at once."""
    asked: list[int] = []

    def interrupted(number: int, _frame: Any) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        say()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)
