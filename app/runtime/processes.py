"""The processes of the server, and the memory that they take."""

import contextlib
import os
from collections import Counter
from dataclasses import dataclass

import psutil

SERVER, FORK_SERVER, WORKER = "server", "fork_server", "worker"


@dataclass(frozen=True)
class ProcessUse:
    """What the processes take.

    Attributes:
        workers: How many workers there are: those with a job, the one that waits for the next, and those that answer.
        memory: Bytes by kind of process; memory that several share counts once where the system says so (Linux).
    """

    workers: int
    memory: dict[str, int]


def process_use() -> ProcessUse:
    """Look at this process and those that it has started. Takes some milliseconds for each."""
    server = psutil.Process()
    memory = Counter({SERVER: _memory(server), FORK_SERVER: 0, WORKER: 0})
    workers = 0
    for child in server.children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            kind = _kind(child)
            memory[kind] += _memory(child)
            workers += kind == WORKER
    return ProcessUse(workers, dict(memory))


def _kind(child: psutil.Process) -> str:
    # A forked worker has the command line of the fork server.
    return FORK_SERVER if child.ppid() == os.getpid() and "dmlviz.jobs.fork_server" in child.cmdline() else WORKER


def _memory(process: psutil.Process) -> int:
    use = process.memory_full_info()
    return int(getattr(use, "pss", use.uss))
