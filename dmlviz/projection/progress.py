"""Throttled progress callbacks and cancellation for iterative layouts."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

OnFrame = Callable[[int, int, float | None, np.ndarray], Any]
OnPhase = Callable[[str, int, int], Any]


class CancelledError(Exception):
    """Raised inside a layout that is stopped before its first positions."""


class ProgressReporter:
    """Reports intermediate layouts at a limited rate, and checks for cancellation.

    `last_layout` holds the last reported positions, even without a callback.

    Args:
        on_frame: Called as `on_frame(iteration, of, error, coordinates)`; a true result stops the layout.
        stop: Polled for cancellation.
        on_phase: Called as `on_phase(words, iteration, of)` where there are no positions to report.
        every: Seconds between frames; more while a frame, its error included, would cost over a fifth of the time.
        clock: Clock in seconds.
    """

    def __init__(
        self,
        on_frame: OnFrame | None = None,
        stop: Callable[[], bool] | None = None,
        on_phase: OnPhase | None = None,
        *,
        every: float = 0.1,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._on_frame, self._stop, self._on_phase, self._clock = on_frame, stop, on_phase, clock
        self._every = every
        self._next, self._asked = -np.inf, np.inf
        self.stopped = False
        self.last_layout = np.empty((0, 2), np.float32)

    def is_due(self) -> bool:
        """Return whether to report a frame now."""
        if self._on_frame is None:
            return False
        self._asked = self._clock()
        return self._asked >= self._next

    def report(self, iteration: int, of: int, error: float | None, coordinates: np.ndarray) -> None:
        """Report a frame, and stop if the callback asks for it."""
        self.last_layout = coordinates
        if self._on_frame is not None:
            start = min(self._asked, self._clock())
            self.stopped |= bool(self._on_frame(iteration, of, error, coordinates))
            end = self._clock()
            self._next, self._asked = end + max(self._every, 4 * (end - start)), np.inf

    def tell(self, words: str, iteration: int, of: int) -> None:
        """Report the current phase."""
        if self._on_phase is not None:
            self._on_phase(words, iteration, of)

    def should_stop(self) -> bool:
        """Return whether the layout was asked to stop."""
        self.stopped |= self._stop is not None and bool(self._stop())
        return self.stopped

    def raise_if_stopped(self) -> None:
        """Raise CancelledError if the layout was asked to stop."""
        if self.should_stop():
            raise CancelledError
