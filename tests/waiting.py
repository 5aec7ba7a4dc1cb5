"""What tests wait with."""

import time
from collections.abc import Callable


def until(promise: Callable[[], object], seconds: float = 300.0, what: str = "it never came about") -> float:
    """Wait until `promise()` holds, and return the seconds that it took; `what` is said when it takes too long.

    It is asked for less and less often: to ask a browser takes both of them 10 ms of work.
    """
    began = time.monotonic()
    while not promise():
        waited = time.monotonic() - began
        assert waited < seconds, what
        time.sleep(min(0.1, 0.01 + waited / 10))
    return time.monotonic() - began
