"""Answers prepared in a thread of this process: what they say is the same, and no worker is started."""

import contextlib
import threading
from pathlib import Path

from dmlviz.jobs.job_record import Work
from dmlviz.jobs.placement import WorkerEvent
from dmlviz.jobs.pool import WorkerPool
from dmlviz.workers import answers


class _ThreadWorker:
    """Stands for the process of an answer."""

    machine, name = "", "thread"

    def terminate(self) -> None:
        pass

    def kill(self) -> None:
        pass

    def join(self, timeout: float | None = None) -> None:
        pass


def answer_in_thread(pool: WorkerPool, folder: Path) -> _ThreadWorker:
    """Stand for `WorkerPool.answer`; `answers.limit_further_resources` must be replaced, too."""
    worker = _ThreadWorker()

    def work() -> None:
        try:
            with contextlib.suppress(FileNotFoundError, SystemExit):  # its test is over, or wants this worker to end
                answers.prepare_answer(Work(folder, pool._data_root))
        finally:
            pool._events.put(WorkerEvent(worker, None, "The worker ended."))

    threading.Thread(target=work, daemon=True).start()
    return worker
