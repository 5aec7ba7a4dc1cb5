"""What tests wait with."""

import time
from collections.abc import Callable


def until(promise: Callable[[], object], seconds: float = 300.0, what: str = "it never came about") -> float:
    """Wait until `promise()` holds, and return the seconds that it took; `what` is said when it takes too long."""
    began = time.monotonic()
    while not promise():
        assert time.monotonic() - began < seconds, what
        time.sleep(0.01)
    return time.monotonic() - began
