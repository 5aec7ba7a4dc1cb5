"""When a layout shows itself: often enough to be watched, seldom enough to cost little."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

OnFrame = Callable[[int, int, float | None, np.ndarray], Any]
OnPhase = Callable[[str, int, int], Any]


class Cancelled(Exception):
    """Raised inside a computation that was asked to stop before it had a layout of its own."""


class Frames:
    """Hands positions to `on_frame(iteration, of, error, coordinates)` and asks it and `stop()` whether to go on.

    A frame comes `every` so many seconds; where it costs more than a fifth of that, half as often. `latest` is the
    last that was shown, whether anybody looked or not. `on_phase(words, iteration, of)` is told what is done where
    there are no positions to show.
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
        self._next = -np.inf
        self.stopped = False
        self.latest = np.empty((0, 2), np.float32)

    def due(self) -> bool:
        """Whether to show a frame now."""
        return self._on_frame is not None and self._clock() >= self._next

    def show(self, iteration: int, of: int, error: float | None, coordinates: np.ndarray) -> None:
        """Hand a frame over; what comes back decides whether to stop."""
        self.latest = coordinates
        if self._on_frame is not None:
            began = self._clock()
            self.stopped |= bool(self._on_frame(iteration, of, error, coordinates))
            ended = self._clock()
            self._next = ended + (self._every if ended - began < self._every / 5 else 2 * self._every)

    def tell(self, words: str, iteration: int, of: int) -> None:
        """Say what is done now."""
        if self._on_phase is not None:
            self._on_phase(words, iteration, of)

    def ended(self) -> bool:
        """Whether somebody asked to stop."""
        self.stopped |= self._stop is not None and bool(self._stop())
        return self.stopped

    def go_on(self) -> None:
        """Raise Cancelled when somebody asked to stop."""
        if self.ended():
            raise Cancelled
