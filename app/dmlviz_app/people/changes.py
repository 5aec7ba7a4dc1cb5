"""Notify event streams, which run in the server's loop, of changes made in any thread."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Changes:
    """A signal that wakes its listeners; several changes in a row may be one waking."""

    def __init__(self) -> None:
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()

    def announce(self) -> None:
        """Say, from any thread, that something has changed."""
        with self._lock:
            listeners = [*self._listeners]
        for loop, event in listeners:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """Give an event of the running loop that is set at each change; the listener clears it."""
        listener = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._listeners.add(listener)
        try:
            yield listener[1]
        finally:
            with self._lock:
                self._listeners.discard(listener)
