"""A process that performs the slow first steps of every worker once, and then forks workers that are ready at once.

Imports, the first optimizer and the first kernels take seconds of processor time; memory that is read there is shared
by all workers. The process is started as `python -m dmlviz.workers.fork_server FD`. FD is a socket: each message on it
asks for one worker, and carries its three pipes. The process ends when the other end of the socket, or of its standard
input, is closed.

Measured on two cores without a GPU, MNIST, medians of three rounds, all in one run:

    workers come from                      this    the standard library's fork server    a warm process each
    click to the first frame, s            0.16    0.16                                  0.09
    the same of a second click, s          0.58    0.67                                  5.31
    memory of eight workers (PSS), MB       855     896                                  3117

The standard library's (`multiprocessing.get_context("forkserver")`) cannot be used under Streamlit. It runs the main
module again in each worker, and Streamlit puts the page's script in its place, so that each worker would run the page.
Its `start` also waits until the preloaded modules are imported: 8 s in which the server does not answer.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from dmlviz.jobs.fork_client import MAX_REQUEST_BYTES
from dmlviz.process_setup import ONE_THREAD_ENV, exit_when_closed, freeze_garbage_collector, niceness


@dataclass(frozen=True)
class _Request:
    number: int
    arguments: list[str]
    environment: dict[str, str]
    pipes: list[int]  # standard input, output and error

    @property
    def urgent(self) -> bool:
        """Return whether its job has been sent already."""
        return self.pipes[0] in _readable(self.pipes[0], timeout=0)


class _Forks:
    """Inside the fork server: requests that wait, workers that live."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.requests: list[_Request] = []
        self.numbers: dict[int, int] = {}
        self.wakeup_read, self.wakeup_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wakeup_write, warn_on_full_buffer=False)

    def poll(self, timeout: float | None) -> bool:
        """Take a request in, and report workers that have ended; exit when the server has.

        Args:
            timeout: How many seconds to wait for either; None waits for ever.

        Returns:
            Whether either came.
        """
        ready = _readable(self.control.fileno(), self.wakeup_read, timeout=timeout)
        if self.wakeup_read in ready:
            os.read(self.wakeup_read, MAX_REQUEST_BYTES)
            self._reap()
        if self.control.fileno() in ready:
            data, pipes, _, _ = socket.recv_fds(self.control, MAX_REQUEST_BYTES, 3)
            if not data:
                os._exit(0)
            self.requests.append(_Request(pipes=pipes, **json.loads(data)))
        return bool(ready)

    def fork_pending(self, urgent: bool) -> None:
        """Fork the workers that were asked for; with `urgent` only those whose job has been sent already."""
        for request in [request for request in self.requests if request.urgent or not urgent]:
            self.requests.remove(request)
            if (pid := os.fork()) == 0:
                self._run_child(request)
            for pipe in request.pipes:
                os.close(pipe)
            self.numbers[pid] = request.number
            self._send(number=request.number, pid=pid)

    def _run_child(self, request: _Request) -> NoReturn:
        """Do the worker's work in the forked process, which ends with it."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for target, pipe in enumerate(request.pipes):
                os.dup2(pipe, target)
            for end in (*request.pipes, *(pipe for pending in self.requests for pipe in pending.pipes)):
                os.close(end)
            for end in (self.control.detach(), self.wakeup_read, self.wakeup_write):
                os.close(end)
            with contextlib.suppress(OSError):  # what `ps` and `top` call it
                Path("/proc/self/comm").write_text("dmlviz worker")
            os.environ.clear()
            os.environ.update(request.environment | ONE_THREAD_ENV)
            from dmlviz.workers import job_worker

            job_worker.main(request.arguments)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = child
                if pid in self.numbers:  # or the process that compiles kernels
                    self._send(number=self.numbers.pop(pid), status=os.waitstatus_to_exitcode(status))

    def _send(self, **message: Any) -> None:
        try:
            self.control.send(json.dumps(message).encode())
        except OSError:  # the server is gone
            os._exit(0)


def _readable(*files: int, timeout: float | None) -> list[int]:
    return select.select(files, [], [], timeout)[0]


def _at_low_priority(prepare: Callable[[], object]) -> None:
    os.nice(niceness())
    prepare()


def _wait_for_end(thread: threading.Thread) -> None:
    """Wait until the system's thread is gone as well.

    Python's `join` returns a moment before: libraries may still tidy up what the thread had of theirs. A worker forked
    in that moment would inherit their locks, which no thread releases, and wait forever.
    """
    thread.join()
    while Path(f"/proc/self/task/{thread.native_id}").exists():
        time.sleep(0.001)


def main() -> None:
    """Import everything, then fork until the server ends; a job that comes earlier does not wait for all imports."""
    exit_when_closed(0)
    from dmlviz.workers import job_worker

    forks = _Forks(socket.socket(fileno=int(sys.argv[1])))
    for prepare in job_worker.warm_up_steps(forking=True):
        # On Linux each thread has its own priority: a worker is forked at the usual one, and lowers it itself.
        thread = threading.Thread(target=_at_low_priority, args=(prepare,))
        thread.start()
        _wait_for_end(thread)  # no thread may run during a fork
        while forks.poll(timeout=0):
            pass
        forks.fork_pending(urgent=True)
    freeze_garbage_collector()
    while True:
        forks.fork_pending(urgent=False)
        forks.poll(timeout=None)


if __name__ == "__main__":
    main()
