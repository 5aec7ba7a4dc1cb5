"""Limits how often something may be tried, so that nobody guesses a code or fills a class."""

import threading
import time
from collections import deque
from collections.abc import Callable

from dmlviz.errors import UserError

MAX_KEYS = 10_000


class Attempts:
    """Counts attempts of the last minutes by key. Safe for several threads.

    Args:
        limit: How many are allowed.
        within_s: In how many seconds.
        sentence: What is said to whoever has had them all.
        clock: Seconds.
    """

    def __init__(self, limit: int, within_s: float, sentence: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._within_s, self._sentence, self._clock = limit, within_s, sentence, clock
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def check(self, key: str) -> None:
        """Raise UserError if whoever this is has had all attempts."""
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
