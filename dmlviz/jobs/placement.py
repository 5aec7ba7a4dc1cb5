"""The scheduler's interface to the executor of a job: a process of this machine, or another machine."""

from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeAlias

from dmlviz.catalog.datasets import DATASETS
from dmlviz.jobs.order import Order
from dmlviz.runs.run import EventLogDir

Message: TypeAlias = dict[str, Any]  # to a worker or from it: an object in JSON


class JobWorker(Protocol):
    """Does one job. Its messages, and at last its end, go into an `EventQueue`."""

    @property
    def machine(self) -> str:
        """The name of the machine; empty for this one."""

    @property
    def name(self) -> str:
        """The name of the machine, or the process id on this one."""

    def terminate(self) -> None:
        """Ask it to stop between two batches."""

    def kill(self) -> None:
        """Kill it."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until its end is in the queue."""


class WorkerEvent(NamedTuple):
    """A message of a worker; with `message` None, its end, and the reason.

    `lost`: the machine is gone, so that the job should begin again elsewhere.
    """

    worker: JobWorker
    message: Message | None
    why: str = ""
    lost: bool = False


EventQueue: TypeAlias = SimpleQueue[WorkerEvent | None]  # None: the listener has gone


@dataclass(frozen=True)
class MachineInfo:
    """A machine of a fleet; `refused` is a sentence if it may not work for this server."""

    name: str
    address: str
    slots: int
    gpus: int
    datasets: tuple[str, ...]
    versions: dict[str, str]
    busy: int
    refused: str

    def can_train(self, dataset: str) -> bool:
        """Return whether it may train on a data set, which it downloads where it does not have it."""
        return not self.refused and (dataset in self.datasets or dataset in DATASETS.builtin)


class Fleet(Protocol):
    """Other machines that train."""

    @property
    def machines(self) -> list[MachineInfo]:
        """The machines that are connected now, by name."""

    @property
    def trouble(self) -> str:
        """The reason why the fleet cannot be used now; empty if it can."""

    def start(self, events: EventQueue, on_room: Callable[[], object]) -> None:
        """Begin to watch the machines.

        Args:
            events: Queue of the messages and the end of each job's worker.
            on_room: Called, without arguments, when a machine has come.
        """

    def can_train(self, dataset: str) -> bool:
        """Return whether a machine, now free or not, could train on this data set."""

    def dispatch(self, order: Order[Any], record: EventLogDir, only: str = "") -> JobWorker | None:
        """Give a job to a machine with a free slot, or to the one named `only`; None without one."""

    def close(self) -> None:
        """Leave the fleet; its machines keep the trainings under way for a while, for when this server is back."""
