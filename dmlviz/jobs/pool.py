"""The workers that are ready: a warm one for the next job, and one that stays and answers questions."""

import contextlib
import json
import queue
import sys
import threading
from base64 import b64encode
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Literal, cast

import numpy as np

from dmlviz.errors import UserError
from dmlviz.jobs.placement import EventQueue, JobWorker, Message
from dmlviz.jobs.worker_process import WorkerProcess, worker_arguments
from dmlviz.runs.answers import EmbeddedImages
from dmlviz.runs.run import Run

ANSWER_TIMEOUT_S = 120.0  # seconds for an answer of a worker that stays


class WorkerPool:
    """Gives each job to the warm worker, or to a new one where there is none. One thread at a time may use it.

    Args:
        data_root: The folder of the data sets.
        warm: Whether a worker that has imported everything waits for the next job.
        likely: The data set that the first warm worker loads; later ones load that of the job before.
        events: Queue of all its workers' messages and ends.
    """

    def __init__(self, data_root: Path | None, warm: bool, likely: str | None, events: EventQueue) -> None:
        self.warm = warm
        self.idle_worker: WorkerProcess | None = None
        self._data_root = data_root
        self._likely = likely
        self._events = events
        self.prestart()

    def dispatch(self, folder: Path, dataset: str) -> WorkerProcess:
        """Give the job of a folder, on that data set, to a worker."""
        request = self._request(folder)
        self._likely = dataset
        worker, self.idle_worker = self.idle_worker or self._new(), None
        try:
            worker.send(request)
        except BrokenPipeError:  # the warm one died while it waited
            worker = self._new()
            with contextlib.suppress(BrokenPipeError):  # then its end is in the queue
                worker.send(request)
        return worker

    def answer(self, folder: Path) -> WorkerProcess:
        """Give an answer to a worker of its own; where none can be forked, to the warm one."""
        if sys.platform != "linux":
            return self.dispatch(folder, self._likely or "")
        worker = self._new()
        with contextlib.suppress(BrokenPipeError):  # then its end is in the queue
            worker.send(self._request(folder))
        return worker

    def prestart(self) -> None:
        """Start a warm worker unless there is one, or none is wanted."""
        if self.warm and self.idle_worker is None:
            self.idle_worker = self._new()

    def discard(self, worker: JobWorker) -> bool:
        """Forget the warm worker after its end; return False if another worker has ended.

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

    def _request(self, folder: Path) -> Message:
        data_root = str(Path(self._data_root).resolve()) if self._data_root else None
        return {"folder": str(folder.resolve()), "data": data_root}

    def _new(self) -> WorkerProcess:
        return WorkerProcess(worker_arguments("--wait", self._data_root, self._likely), self._events)


class RpcWorker:
    """A worker that stays and answers one question after another; started when it is first needed, or by `start`."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._lock = threading.Lock()
        self._events: EventQueue = queue.SimpleQueue()
        self._worker: WorkerProcess | None = None
        self._asked: dict[str, Future[Message]] = {}  # by question; see `call`
        self._is_closed = False

    def start(self) -> None:
        """Start it, so that the first question need not wait for its imports; nothing when it is at work."""
        if self._lock.acquire(blocking=False):
            try:
                self._ensure_started()
            finally:
                self._lock.release()

    def call(self, question: Message, timeout: float = ANSWER_TIMEOUT_S) -> Message:
        """Return its answer; raise UserError when it reports an error, ends, or is silent for `timeout` seconds.

        Equal questions that wait at the same time are answered once.
        """
        mine: Future[Message] = Future()
        key = json.dumps(question, sort_keys=True)
        shared = self._asked.setdefault(key, mine)
        if shared is mine:
            try:
                mine.set_result(self._ask(question, timeout))
            except BaseException as error:
                mine.set_exception(error)
            finally:
                del self._asked[key]
        return shared.result()

    def _ask(self, question: Message, timeout: float) -> Message:
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
        """Kill the worker."""
        self._is_closed = True
        if self._worker is not None:
            self._worker.kill()
            self._worker.join(5)

    def _ensure_started(self) -> WorkerProcess:
        if self._is_closed:
            raise UserError("The server is shutting down: try again when it is back.")
        if self._worker is None or not self._worker.alive:
            self._events = queue.SimpleQueue()  # what the one before said answers nothing
            self._worker = WorkerProcess(self._arguments, self._events)
        return self._worker

    def _receive(self, timeout: float) -> Message:
        while True:
            event = self._events.get(timeout=timeout)
            assert event is not None
            if event.message is None:
                return {"error": f"No answer: {event.why} Try once more."}
            if "ready" not in event.message:
                return event.message


def embed_images(
    worker: RpcWorker,
    run: Run,
    images: np.ndarray,
    views: Sequence[str] | None = None,
    trajectory: bool | Literal["places"] = False,
    confidence: bool = False,
    near: int = 0,
    holders: Sequence[str] | None = None,
) -> EmbeddedImages:
    """Embed images with a run's net, and place them on its maps.

    Args:
        worker: The worker that answers.
        run: The run.
        images: Images (uint8, n × h × w (× 3)), prepared as those of the data set.
        views: The maps to place them on: "live" or ids of finished projections; None for all.
        trajectory: Embed them by every checkpoint too; "places" for their places alone.
        confidence: Compute the confidence of the answer to each.
        near: Number of kept pictures to find for each.
        holders: Whose; None for everybody's.

    Raises:
        UserError: Before the run's end, or for images of another size.
    """
    images = np.ascontiguousarray(images, np.uint8)
    question = {
        "ask": "embed",
        "run": str(run.path.resolve()),
        "images": b64encode(images.tobytes()).decode(),
        "shape": list(images.shape),
        "views": None if views is None else list(views),
        "trajectory": trajectory,
        "confidence": confidence,
        "near": near,
        "holders": holders if holders is None else list(holders),
    }
    slow = len(images) if run.config.unfrozen_blocks else 0  # a second an image, without a GPU
    return cast(EmbeddedImages, worker.call(question, timeout=ANSWER_TIMEOUT_S + slow))
