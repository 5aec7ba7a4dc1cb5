"""The workers at hand: one warm for the next order, and one that stays and answers questions."""

import contextlib
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dmlviz.errors import UserError
from dmlviz.jobs.worker_process import WorkerProcess, worker_arguments


class WorkerPool:
    """Hires a worker for an order: the warm one, when there is one, or a new one, which has no data at hand yet.

    `likely` is the data set that the warm one has at hand, at first; later that of the order before. `heard` hears
    every message of every worker, `gone` the end of every hired one.
    """

    def __init__(
        self,
        data_root: Path | None,
        warm: bool,
        likely: str | None,
        heard: Callable[[WorkerProcess, dict[str, Any]], object],
        gone: Callable[[WorkerProcess, str], object],
    ) -> None:
        self.warm = warm
        self.idle_worker: WorkerProcess | None = None
        self._data_root = data_root
        self._likely = likely
        self._heard = heard
        self._told = gone
        self._change = threading.RLock()
        self.prestart()

    def dispatch(self, order: dict[str, Any], dataset: str) -> WorkerProcess:
        """Give an order, on that data set, to a worker."""
        order = order | {"data": str(Path(self._data_root).resolve()) if self._data_root else None}
        with self._change:
            self._likely = dataset
            worker, self.idle_worker = self.idle_worker or self._new(), None
            try:
                worker.send(order)
            except BrokenPipeError:  # the warm one died while it waited
                worker = self._new()
                with contextlib.suppress(BrokenPipeError):  # then `gone` tells
                    worker.send(order)
            return worker

    def prestart(self) -> None:
        """Start a warm worker unless there is one, or none is wanted."""
        with self._change:
            if self.warm and self.idle_worker is None:
                self.idle_worker = self._new()

    def close(self) -> None:
        """End the warm worker and make no other."""
        with self._change:
            self.warm, spare = False, self.idle_worker
        if spare is not None:
            spare.kill()
            spare.join(5)

    def _new(self) -> WorkerProcess:
        return WorkerProcess(worker_arguments("--wait", self._data_root, self._likely), self._heard, self._gone)

    def _gone(self, worker: WorkerProcess, why: str) -> None:
        with self._change:
            if (
                worker is self.idle_worker
            ):  # another is made after the next job: one that cannot live must not be made in a loop
                self.idle_worker = None
                return
        self._told(worker, why)


class RpcWorker:
    """A worker that stays and answers one question after another; started when it is first needed, or by `start`."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._asking = threading.Lock()
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._worker: WorkerProcess | None = None
        self._closed = False

    def start(self) -> None:
        """Start it, so that the first question need not wait for its imports; nothing when it is at work."""
        if self._asking.acquire(blocking=False):
            try:
                self._ensure_started()
            finally:
                self._asking.release()

    def call(self, question: dict[str, Any], timeout: float = 30.0) -> dict[str, Any]:
        """Its answer; raise UserError when it says what is wrong, dies, or keeps silent for `timeout` seconds."""
        with self._asking:
            worker, self._answers = self._ensure_started(), queue.SimpleQueue()
            try:
                worker.send(question)
                answer = self._answers.get(timeout=timeout)
            except (BrokenPipeError, queue.Empty):
                worker.kill()
                worker.join(5)
                answer = {"error": "The picture could not be placed: its worker gave no answer. Try once more."}
        if "error" in answer:
            raise UserError(answer["error"])
        return answer

    def close(self) -> None:
        """End it."""
        self._closed = True
        if self._worker is not None:
            self._worker.kill()
            self._worker.join(5)

    def _ensure_started(self) -> WorkerProcess:
        if self._closed:
            raise UserError("The server is closing down.")
        if self._worker is None or not self._worker.alive:
            self._worker = WorkerProcess(self._arguments, self._on_message, self._gone)
        return self._worker

    def _on_message(self, worker: WorkerProcess, message: dict[str, Any]) -> None:
        if worker is self._worker and "ready" not in message:
            self._answers.put(message)

    def _gone(self, worker: WorkerProcess, why: str) -> None:
        if worker is self._worker:
            self._answers.put({"error": f"The picture could not be placed. {why}"})
