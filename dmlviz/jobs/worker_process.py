"""A worker process seen from its parent: started, spoken to in lines of JSON, watched until it is gone."""

import contextlib
import json
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dmlviz.jobs import fork_server


class WorkerProcess:
    """One `dmlviz.jobs.worker`. Its standard input is a pipe held here, so that it ends when this process does.

    `on_message(worker, message)` hears every line of JSON it prints, `on_exit(worker, why)` its end; both are called
    on a thread of their own.
    """

    def __init__(
        self,
        arguments: list[str],
        on_message: Callable[["WorkerProcess", dict[str, Any]], object],
        on_exit: Callable[["WorkerProcess", str], object],
    ) -> None:
        self.ready = threading.Event()  # set when it has imported everything
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (read and closed when the worker is gone)
        self._process = fork_server.start(arguments, self._errors)
        self._on_message = on_message
        self._on_exit = on_exit
        self._thread = threading.Thread(target=self._reader_thread, name="worker", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def send(self, message: dict[str, Any]) -> None:
        """Write one line of JSON to it; raise BrokenPipeError when it is gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except ValueError:  # closed by the watching thread
            raise BrokenPipeError from None

    def terminate(self) -> None:
        """Ask it to stop between two batches."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """End it now."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def join(self, timeout: float | None = None) -> None:
        """Wait until it is gone and its end was told; one that has not even been forked is not waited for."""
        unborn = isinstance(self._process, fork_server.ForkedProcess) and not self._process.started
        if threading.current_thread() is not self._thread and not unborn:
            self._thread.join(timeout)

    def _reader_thread(self) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            if "ready" in message:
                self.ready.set()
            self._on_message(self, message)
        status = process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 4096))
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        self._errors.close()
        process.stdout.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
        self._on_exit(self, exit_message(status, said))


def exit_message(status: int, said: list[str]) -> str:
    """A sentence on how a process ended: `status` as subprocess gives it, `said` its last lines on standard error."""
    if status == -signal.SIGKILL:
        return (
            "The worker was killed (signal 9): most likely out of memory; "
            "close other programs, or use a smaller net or smaller batches."
        )
    if status < 0:
        return f"The worker was killed (signal {-status}, {signal.Signals(-status).name})."
    last = f": {said[-1][:200]}" if said else ""
    return f"The worker ended before its work was done (exit status {status}){last}."


def worker_arguments(mode: str, data_root: Path | None, likely: str | None = None) -> list[str]:
    """The arguments of `python -m dmlviz.jobs.worker` for --wait or --serve."""
    arguments = [mode]
    if data_root is not None:
        arguments += ["--data", str(Path(data_root).resolve())]
    return arguments + (["--likely", likely] if likely else [])
