"""The workers that are ready: a warm one for the next job, and one that stays and answers questions."""

import contextlib
import queue
import threading
from pathlib import Path
from typing import Any

from dmlviz.errors import UserError
from dmlviz.jobs.placement import EventQueue, JobWorker
from dmlviz.jobs.worker_process import WorkerProcess, worker_arguments

ANSWER_TIMEOUT_S = 30.0  # seconds for an answer of a worker that stays


class WorkerPool:
    """Gives each job to the warm worker, or to a new one where there is none. One thread at a time may use it.

    Args:
        data_root: Where the data sets are.
        warm: Whether a worker that has imported everything waits for the next job.
        likely: The data set that the first warm worker loads; later ones load that of the job before.
        events: Where all its workers put their messages and their ends.
    """

    def __init__(self, data_root: Path | None, warm: bool, likely: str | None, events: EventQueue) -> None:
        self.warm = warm
        self.idle_worker: WorkerProcess | None = None
        self._data_root = data_root
        self._likely = likely
        self._events = events
        self.prestart()

    def dispatch(self, request: dict[str, Any], dataset: str) -> WorkerProcess:
        """Give a job, on that data set, to a worker."""
        request = request | {"data": str(Path(self._data_root).resolve()) if self._data_root else None}
        self._likely = dataset
        worker, self.idle_worker = self.idle_worker or self._new(), None
        try:
            worker.send(request)
        except BrokenPipeError:  # the warm one died while it waited
            worker = self._new()
            with contextlib.suppress(BrokenPipeError):  # then its end is in the queue
                worker.send(request)
        return worker

    def prestart(self) -> None:
        """Start a warm worker unless there is one, or none is wanted."""
        if self.warm and self.idle_worker is None:
            self.idle_worker = self._new()

    def discard(self, worker: JobWorker) -> bool:
        """Forget the warm worker, which has ended; False where it is another that has.

        The next is started after the next job: one that cannot live must not be started again and again.
        """
        if worker is not self.idle_worker:
            return False
        self.idle_worker = None
        return True

    def close(self) -> None:
        """End the warm worker and start no other."""
        self.warm = False
        if self.idle_worker is not None:
            self.idle_worker.kill()
            self.idle_worker.join(5)

    def _new(self) -> WorkerProcess:
        return WorkerProcess(worker_arguments("--wait", self._data_root, self._likely), self._events)


class RpcWorker:
    """A worker that stays and answers one question after another; started when it is first needed, or by `start`."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._lock = threading.Lock()
        self._events: EventQueue = queue.SimpleQueue()
        self._worker: WorkerProcess | None = None
        self._closed = False

    def start(self) -> None:
        """Start it, so that the first question need not wait for its imports; nothing when it is at work."""
        if self._lock.acquire(blocking=False):
            try:
                self._ensure_started()
            finally:
                self._lock.release()

    def call(self, question: dict[str, Any], timeout: float = ANSWER_TIMEOUT_S) -> dict[str, Any]:
        """Its answer; raise UserError when it says what is wrong, ends, or says nothing for `timeout` seconds."""
        with self._lock:
            worker = self._ensure_started()
            try:
                worker.send(question)
                answer = self._receive(timeout)
            except (BrokenPipeError, queue.Empty):
                worker.kill()
                worker.join(5)
                answer = {"error": "The worker gave no answer in time: try once more."}
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
            raise UserError("The server is shutting down: try again when it is back.")
        if self._worker is None or not self._worker.alive:
            self._events = queue.SimpleQueue()  # what the one before said answers nothing
            self._worker = WorkerProcess(self._arguments, self._events)
        return self._worker

    def _receive(self, timeout: float) -> dict[str, Any]:
        while True:
            event = self._events.get(timeout=timeout)
            assert event is not None
            if event.message is None:
                return {"error": f"No answer: {event.why} Try once more."}
            if "ready" not in event.message:
                return event.message
