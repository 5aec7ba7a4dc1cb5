"""A worker process, from the server's side: lines of JSON in both directions, until it ends."""

import contextlib
import json
import os
import signal
import tempfile
import threading
from pathlib import Path

from dmlviz.jobs import fork_client
from dmlviz.jobs.placement import EventQueue, Message, WorkerEvent
from dmlviz.process_setup import ask_to_stop_by_signal

KILLED = "The worker was killed (signal 9): most likely out of memory."


class WorkerProcess:
    """One `dmlviz.workers.job_worker`; it ends with this process, which holds the other end of its standard input.

    Args:
        arguments: Its command line, for instance that of `worker_arguments`.
        events: Queue of its messages and, at last, its end.
    """

    machine = ""  # this one

    def __init__(self, arguments: list[str], events: EventQueue) -> None:
        self.ready = threading.Event()  # set when it has imported everything
        self._events = events
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (the thread closes it)
        self._process = fork_client.start(arguments, self._errors)
        self._thread = threading.Thread(target=self._read_messages, name="worker", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def name(self) -> str:
        """Its process id, as text."""
        return str(self.pid)

    @property
    def alive(self) -> bool:
        """Return whether the process still runs."""
        return self._process.poll() is None

    def send(self, message: Message) -> None:
        """Write one line of JSON to it; raise BrokenPipeError when it has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except ValueError:  # closed by the thread
            raise BrokenPipeError from None

    def terminate(self) -> None:
        """Ask it to stop between two batches."""
        with contextlib.suppress(ProcessLookupError, BrokenPipeError):
            if ask_to_stop_by_signal():
                self._process.terminate()
            else:
                self.send({"stop": True})

    def kill(self) -> None:
        """Kill it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def join(self, timeout: float | None = None) -> None:
        """Wait until its end is in the queue; one that has not even been forked is not waited for."""
        is_pending = isinstance(self._process, fork_client.ForkedProcess) and not self._process.started
        if not is_pending:
            self._thread.join(timeout)

    def _read_messages(self) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            try:
                message = json.loads(line)
            except ValueError:  # cut off: it was killed
                continue
            if "ready" in message:
                self.ready.set()
            self._events.put(WorkerEvent(self, message))
        status = process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 4096))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        self._errors.close()
        process.stdout.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
        self._events.put(WorkerEvent(self, None, exit_message(status, lines)))


def exit_message(status: int, lines: list[str]) -> str:
    """Say in a sentence how a process ended.

    Args:
        status: Its exit status, as `subprocess` gives it.
        lines: Its last lines on standard error.
    """
    if status == -9:  # SIGKILL, a name that Windows lacks
        return KILLED
    if status < 0:
        return f"The worker was killed (signal {-status}, {signal.Signals(-status).name})."
    last_line = f": {lines[-1][:200]}" if lines else ""
    if last_line.startswith(": ImportError: cannot import name") and "'dmlviz." in last_line:
        return f"dmlviz was changed while it ran: start it again (a worker ended with status {status}{last_line})."
    return f"The worker ended before its work was done (exit status {status}){last_line}."


def worker_arguments(mode: str, data_root: Path | None, likely: str | None = None) -> list[str]:
    """Return the command line of a worker.

    Args:
        mode: "--wait" or "--serve".
        data_root: Folder of the data sets.
        likely: Data set to load in advance.
    """
    arguments = [mode]
    if data_root is not None:
        arguments += ["--data", str(Path(data_root).resolve())]
    return arguments + (["--likely", likely] if likely else [])
