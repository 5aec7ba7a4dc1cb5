"""What tests ask of processes and ports."""

import contextlib
import socket

import psutil


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
