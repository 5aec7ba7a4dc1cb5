"""What tests wait with, call at once, and ask of processes and ports."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil


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


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Call all in threads, in the same moment; return what they return, in their order."""
    barrier = threading.Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(one, calls))


def free_port() -> int:
    """Return a port on loopback where nobody listens now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have started; none of one that is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def alive(pid: int) -> bool:
    """Say whether a process runs."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False
