"""Limit the attempts at something, so that codes cannot be guessed and classes not filled."""

import threading
import time
from collections import deque
from collections.abc import Callable

from dmlviz.errors import UserError

MAX_KEYS = 10_000


class Attempts:
    """Counter of recent attempts by key. Safe for several threads.

    Args:
        limit: Number of allowed attempts.
        within_s: Period of the limit in seconds.
        sentence: Error message once the limit is reached.
        clock: Seconds.
    """

    def __init__(self, limit: int, within_s: float, sentence: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._within_s, self._sentence, self._clock = limit, within_s, sentence, clock
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def check(self, key: str) -> None:
        """Raise UserError if all attempts for this key are used up."""
        with self._lock:
            if len(self._recent(key)) >= self._limit:
                raise UserError(self._sentence)

    def add(self, key: str) -> None:
        """Count one more."""
        with self._lock:
            times = self._recent(key)
            times.append(self._clock())
            self._times.pop(key, None)
            self._times[key] = times  # last
            while len(self._times) > MAX_KEYS:
                del self._times[next(iter(self._times))]

    def _recent(self, key: str) -> deque[float]:
        times = self._times.get(key, deque(maxlen=self._limit))
        while times and times[0] <= self._clock() - self._within_s:
            times.popleft()
        return times
