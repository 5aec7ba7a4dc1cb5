"""Starts the processes of workers: the server's side of `dmlviz.workers.fork_server`.

Workers are programs above this package, which knows only the names by which Python starts them.
"""

import atexit
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import IO, Protocol

from dmlviz.process_setup import ONE_THREAD_ENV

MAX_REQUEST_BYTES = 1 << 17  # bytes of a request, most of which is the environment


class Process(Protocol):
    """The interface of a worker's process, forked or started; a part of `subprocess.Popen`."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    @property
    def pid(self) -> int:
        """Its process id."""

    def poll(self) -> int | None:
        """Return its exit status; None while it runs."""

    def wait(self) -> int:
        """Wait for its end; return its exit status."""

    def terminate(self) -> None:
        """Send it SIGTERM."""

    def kill(self) -> None:
        """Send it SIGKILL."""


def start(arguments: list[str], errors: IO[bytes]) -> Process:
    """Start `dmlviz.workers.job_worker` in a forked process.

    On Linux the fork server forks it; elsewhere a fork is not safe once the system's libraries were used, so that it
    imports everything itself.

    Args:
        arguments: Its command line.
        errors: The file that gets its standard error.
    """
    forks = sys.platform == "linux" and hasattr(os, "fork")
    return _fork_server().fork(arguments, errors) if forks else launch(arguments, errors)


def launch(arguments: list[str], errors: IO[bytes]) -> Process:
    """Start it as a process that imports everything itself, which takes seconds."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "dmlviz.workers.job_worker", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=os.environ | ONE_THREAD_ENV,
        start_new_session=True,  # Ctrl-C in the server's terminal is the server's affair
    )


class ForkedProcess:
    """A worker that the fork server has forked, or will fork once it has imported what a worker needs."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self.stdin: IO[bytes] | None = os.fdopen(stdin, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(stdout, "rb")
        self._pid = 0
        self._status: int | None = None
        self._started = threading.Event()
        self._over = threading.Event()
        self._change = threading.Lock()
        self._pending_signal: signal.Signals | None = None

    @property
    def started(self) -> bool:
        """Return whether it has been forked."""
        return self._started.is_set()

    @property
    def pid(self) -> int:
        """Its process id, once it has one."""
        self._started.wait()
        return self._pid

    def poll(self) -> int | None:
        """Return its exit status, as `subprocess` has it; None while it runs."""
        return self._status

    def wait(self) -> int:
        """Wait until it has ended; return its exit status."""
        self._over.wait()
        assert self._status is not None
        return self._status

    def terminate(self) -> None:
        """Send it SIGTERM."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send it SIGKILL."""
        self._send(signal.SIGKILL)

    def on_started(self, pid: int) -> None:
        """Note its process id, as the fork server says it."""
        with self._change:
            self._pid = pid
            self._started.set()
        if self._pending_signal is not None:
            self._send(self._pending_signal)

    def on_exit(self, status: int) -> None:
        """Note how it ended, as the fork server says it; from here on its process id may be another's."""
        with self._change:
            self._status = status
            self._started.set()
            self._over.set()

    def _send(self, signal_number: signal.Signals) -> None:
        with self._change:
            if not self._started.is_set():
                self._pending_signal = signal_number
            elif self._status is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal_number)


class ForkServer:
    """The process that forks, seen from the server."""

    def __init__(self) -> None:
        self._control, remote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with remote_end:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dmlviz.workers.fork_server", str(remote_end.fileno())],
                stdin=subprocess.PIPE,  # nothing is written; it ends with this process, which holds the other end
                stdout=subprocess.DEVNULL,
                env=os.environ
                | ONE_THREAD_ENV
                | {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"},  # to look must not initialize it
                pass_fds=[remote_end.fileno()],
                start_new_session=True,
            )
        self._processes: dict[int, ForkedProcess] = {}  # that have not ended
        self._numbers = itertools.count()
        self._change = threading.Lock()
        self.alive = True
        self._thread = threading.Thread(target=self._listen, name="fork server", daemon=True)
        self._thread.start()

    def fork(self, arguments: list[str], errors: IO[bytes]) -> ForkedProcess:
        """Ask for a worker; it runs at once if the fork server is ready."""
        orders, stdin = os.pipe()
        stdout, answers = os.pipe()
        process = ForkedProcess(stdin, stdout)
        try:
            with self._change:
                number = next(self._numbers)
                self._processes[number] = process
                request = {"number": number, "arguments": arguments, "environment": dict(os.environ)}
                message = json.dumps(request).encode()
                socket.send_fds(self._control, [message], [orders, answers, errors.fileno()])
        except OSError:  # the fork server has ended
            process.on_exit(self._process.wait())
        finally:
            os.close(orders)
            os.close(answers)
        return process

    def close(self) -> None:
        """End it, even in the middle of its imports; its workers end when their pipes are closed."""
        self._process.kill()
        self._thread.join()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._control.recv(MAX_REQUEST_BYTES):
                message = json.loads(data)
                if "pid" in message:
                    self._processes[message["number"]].on_started(message["pid"])
                else:
                    self._processes.pop(message["number"]).on_exit(message["status"])
        with self._change:
            self.alive = False
            orphans = [*self._processes.values()]
        status = self._process.wait()
        for process in orphans:
            process.kill()
            process.on_exit(status)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._control.close()


_instance: ForkServer | None = None
_lock = threading.Lock()


def _fork_server() -> ForkServer:
    """Return the fork server of this process; a new one if the last was killed."""
    global _instance
    with _lock:
        if _instance is None or not _instance.alive:
            _instance = ForkServer()
            atexit.register(_instance.close)
        return _instance
