"""What the scheduler needs of whoever does a job: a process of this machine, or another machine."""

from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeAlias

from dmlviz.runs.run import Run


class JobWorker(Protocol):
    """Does one job. What it says, and at last its end, goes into an `EventQueue`."""

    @property
    def machine(self) -> str:
        """The name of the machine; empty for this one."""

    def terminate(self) -> None:
        """Ask it to stop between two batches."""

    def kill(self) -> None:
        """End it now."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until its end is in the queue."""


class WorkerEvent(NamedTuple):
    """A message of a worker; or, with None in its place, that the worker has ended, and why.

    `lost`: the machine is gone, so that the job should begin again elsewhere.
    """

    worker: JobWorker
    message: dict[str, Any] | None
    why: str = ""
    lost: bool = False


EventQueue: TypeAlias = SimpleQueue[WorkerEvent | None]  # None: nobody listens any more


class Fleet(Protocol):
    """Other machines that train."""

    def start(self, events: EventQueue, on_room: Callable[[], object]) -> None:
        """Begin to watch the machines.

        Args:
            events: Where each job's worker puts its messages and its end.
            on_room: Called, without arguments, when a machine has come.
        """

    def can_train(self, dataset: str) -> bool:
        """Whether a machine, now free or not, could train on this data set."""

    def dispatch(self, run: Run) -> JobWorker | None:
        """Give a training to a machine with a free slot; None when there is none."""

    def close(self) -> None:
        """End the jobs under way and leave the fleet."""
