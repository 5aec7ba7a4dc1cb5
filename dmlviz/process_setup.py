"""Setup of a process: threads, priority, limits, garbage collection, each with its measured effect.

None of it changes a result.

One setting has no line here: uvicorn takes uvloop where it is installed. A rerun of Explore takes 27 ms with it and
49 ms without.
"""

import contextlib
import gc
import math
import os
import re
import select
import stat
import sys
from pathlib import Path
from typing import IO

try:
    import fcntl
    import resource
except ImportError:  # Windows
    fcntl = resource = None  # type: ignore[assignment]

# For a process that has not started yet: libraries read these when they are imported.
ONE_THREAD_ENV = dict.fromkeys(
    (f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")),
    "1",
)
NICENESS = 10
NICENESS_VARIABLE = "DMLVIZ_NICENESS"  # in the environment: another niceness for workers
_FAR_BYTE = 1 << 30  # on Windows a locked byte cannot be read, so it is one beyond any content
MOST_FILES, MOST_FILES_MACOS = 65_536, 10_240  # where the system names no limit; macOS refuses more than its own
OOM_SCORE = 500  # of -1000 (never killed) to 1000 (killed first)


def limit_to_one_thread() -> None:
    """Let torch and FAISS compute on the calling thread alone, so that equal settings give equal numbers.

    Threads wait for each other after every operation: on two busy cores a training on two threads made 13 steps a
    second, and 96 on one.
    """
    import torch

    torch.set_num_threads(1)
    limit_faiss_to_one_thread()


def try_lock(file: IO[bytes], shared: bool = False) -> None:
    """Lock an open file for this process, or with others; raise OSError where another has locked it."""
    if fcntl is not None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return
    import msvcrt  # has no shared lock: two simultaneous checks may see each other

    file.seek(_FAR_BYTE)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


def ask_to_stop_by_signal() -> bool:
    """Return whether a process can be asked to stop by a signal; on Windows it would be ended at once."""
    return fcntl is not None


def limit_faiss_to_one_thread() -> None:
    """Let FAISS search on the calling thread alone: for one query, waking others takes 100 times as long."""
    import faiss

    faiss.omp_set_num_threads(1)


def lower_priority(below: int = 0) -> None:
    """Leave the processor and the memory to others first, and by so much more niceness to other workers.

    While two workers train at this priority, 95% of the page's reruns take less than 16 ms; at the usual one, 22 ms.
    When the memory runs out, Linux ends this process before the server.
    """
    with contextlib.suppress(OSError, AttributeError):  # Windows has no niceness
        os.nice(max(0, niceness() + below - os.nice(0)))
    # Desktop Linux shares the processor among sessions first, where niceness counts for nothing: see sched(7). A worker
    # has a session of its own; the session of a terminal is not ours.
    if below and hasattr(os, "getsid") and os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(below))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE))


def niceness() -> int:
    """Return the niceness of workers: 10 beside a page; a command line, beside which no page waits, sets another."""
    return int(os.environ.get(NICENESS_VARIABLE, NICENESS))


def exit_when_closed(pipe: int) -> None:
    """Let the system end this process when the other end of a pipe is closed; on Linux only.

    It does so even while a library keeps Python from running, as an import of torch does for seconds. No process may
    write into the pipe from here on: that would end the process, too.
    """
    if fcntl is None or sys.platform != "linux":
        return
    if stat.S_ISFIFO(os.fstat(pipe).st_mode):
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())  # SIGIO is left alone, and its default is to end
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([pipe], [], [], 0)[0]:  # closed before
            os._exit(1)


def open_files() -> tuple[int, int] | None:
    """Return how many files this process may have open, and up to how many it may raise that; None on Windows."""
    if resource is None:
        return None
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def raise_open_files() -> None:
    """Let this process open as many files as the system allows it to: each visitor of a server takes four."""
    limits = open_files()
    if limits is None:
        return
    soft, hard = (MOST_FILES if limit == resource.RLIM_INFINITY else limit for limit in limits)
    for wanted in (min(hard, MOST_FILES), min(hard, MOST_FILES_MACOS)):
        if wanted > soft:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, limits[1]))
                return


def limit_further_resources(cpu_seconds: int, memory_bytes: int) -> None:
    """Let the system end this process after so much more processor time, and refuse it more memory; not on Windows.

    Mapped files do not count.
    """
    if resource is None:
        return
    with contextlib.suppress(OSError, ValueError):
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = math.ceil(used.ru_utime + used.ru_stime) + cpu_seconds
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        match = re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if match is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (1024 * int(match[1]) + memory_bytes,) * 2)


def freeze_garbage_collector() -> None:
    """Keep everything that lives now out of all later garbage collections.

    A full collection of the server's objects takes 70 ms, during which no page is served. A process that forks must
    also keep collections from writing to the memory that its children share.
    """
    gc.collect()
    gc.freeze()


def collect_garbage_less_often() -> None:
    """Look for cycles after 10,000 new objects, not after 700: for a server, whose pages make many that live a second.

    A rerun of Explore makes 3,000 of them, and looking for cycles took a tenth of its processor time.
    """
    gc.set_threshold(10_000, 10, 10)
