"""The fleet as a server sees it: which machines are there, and jobs sent to them, over Dask."""

import contextlib
import itertools
import logging
import secrets
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import TimeoutError as NoAnswer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.fleet import FleetError
from dmlviz.fleet.certificates import load_security
from dmlviz.fleet.dask_client import answer_within, connect, list_machines
from dmlviz.fleet.dask_config import (
    FILE,
    TOPIC,
    check_address,
    configure_dask,
    is_listening,
    is_this_machine,
    why_unreachable,
)
from dmlviz.fleet.dask_link import DaskLink
from dmlviz.fleet.dask_scheduler import start_scheduler
from dmlviz.fleet.remote_job import RemoteJob
from dmlviz.jobs.order import Order
from dmlviz.jobs.placement import EventQueue, JobWorker, MachineInfo
from dmlviz.runs.run import EventLogDir

if TYPE_CHECKING:
    from distributed import Client
from collections.abc import Iterable, Mapping

REFRESH_S = 1.0  # seconds between two looks at which machines there are
LOOK_TIMEOUT_S = 60.0  # seconds for the scheduler to say which machines there are
END_TIMEOUT_S = 5.0  # seconds for the scheduler to end
log = logging.getLogger(__name__)


class DaskFleet:
    """Sends trainings and trials to the machines that are connected to a Dask scheduler.

    If no scheduler listens at the address and it is one of this machine, one is started on this machine, and started
    again when it was killed.

    Args:
        address: Address tls://HOST:PORT of the scheduler, or file:PATH of its scheduler file.
        certificates: The folder of the certificates.
    """

    def __init__(self, address: str, certificates: Path | None = None) -> None:
        self.address = check_address(address)
        configure_dask()
        self._certificates = certificates
        self._security = load_security(certificates)
        self._scheduler: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None
        self._machines: dict[str, MachineInfo] = {}
        self._losses: set[str] = set()  # addresses of those that were lost since the last look began
        self._jobs: dict[RemoteJob, str] = {}  # the address of each one's machine
        self._orders: dict[str, RemoteJob] = {}
        self._change = threading.Lock()
        self._closing = threading.Event()
        self._numbers = itertools.count()
        self._name = secrets.token_hex(4)  # of this server: other servers' orders are none of ours
        self._thread = threading.Thread(target=self._watch, name="fleet", daemon=True)
        self.trouble = ""

    def start(self, events: EventQueue, on_room: Callable[[], object]) -> None:
        """Begin to watch the machines; see `dmlviz.jobs.placement.Fleet`."""
        self._events = events
        self._on_room = on_room
        self._thread.start()

    @property
    def machines(self) -> list[MachineInfo]:
        """The machines that are connected now, by name."""
        with self._change:
            return [*self._machines.values()]

    def can_train(self, dataset: str) -> bool:
        """Return whether a machine, now free or not, could train on this data set."""
        machines = self.machines
        return any(machine.can_train(dataset) for machine in machines) or (
            not machines and dataset in DATASETS.builtin  # one will come
        )

    def dispatch(self, order: Order[Any], record: EventLogDir, only: str = "") -> JobWorker | None:
        """Give a job to a machine with a free slot, at best one with its data and a GPU; None without any."""
        with self._change:
            client = self._client
            if client is None or client.status != "running" or self._closing.is_set():
                return None
            busy = Counter(self._jobs.values())
            machine = best_machine(self._machines.values(), busy, order.dataset, only=only)
            if machine is None:
                return None
            address = machine.address
            # Not the ID of the run: another server may train the same, and so may this one, begun again.
            name = f"{self._name}-{next(self._numbers)}"
            job = RemoteJob(
                record,
                machine.name,
                self._events,
                connect=lambda job: DaskLink(client, name, order.content, address, job),
                on_end=lambda job, lost: self._forget(name, job, lost),
            )
            self._jobs[job] = address
            self._orders[name] = job
        job.start()
        return job

    def close(self) -> None:
        """Leave the fleet; its machines keep the trainings under way for a while, for when this server is back."""
        self._closing.set()
        with self._change:
            jobs = [*self._jobs]
        for job in jobs:
            job.on_lost("The server was ended.")
        for job in jobs:
            job.join(5)
        self._thread.join(5)
        self._disconnect()
        self._end_scheduler()

    def _forget(self, order: str, job: RemoteJob, lost: bool) -> None:
        with self._change:
            address = self._jobs.pop(job)
            del self._orders[order]
            if lost:  # until the next look the job must not go there again
                self._machines.pop(address, None)
                self._losses.add(address)

    def _watch(self) -> None:
        """Connect, and connect again; look which machines there are."""
        while not self._closing.is_set():
            try:
                self._keep_connected()
                self._refresh()
            except FleetError as error:
                if str(error) != self.trouble:
                    self.trouble = str(error)
                    log.warning(self.trouble)
                self._lose([*self._machines], "The fleet was lost.")
            except Exception:
                log.exception("the fleet could not be watched")
                self._disconnect()
            self._closing.wait(REFRESH_S)

    def _keep_connected(self) -> None:
        if self._client is not None and self._client.status != "running":
            self._lose([*self._machines], "The fleet was lost.")
            self._disconnect()
        if self._client is None:
            if self._scheduler is not None and self._scheduler.poll() is not None:
                self._end_scheduler()
            if self._scheduler is None and self._is_ours_to_start():
                self._scheduler = start_scheduler(self.address, self._certificates)
            self._client = connect(self.address, self._security)
            self._client.subscribe_topic(TOPIC, self._on_event)
            self.trouble = ""

    def _is_ours_to_start(self) -> bool:
        if self.address.startswith(FILE):
            return False
        return is_this_machine(self.address) and not is_listening(self.address)

    def _refresh(self) -> None:
        assert self._client is not None
        self._losses.clear()
        try:
            client = self._client
            answer = answer_within(LOOK_TIMEOUT_S, lambda: list_machines(client))
            machines = {machine.address: machine for machine in answer}
        except (OSError, RuntimeError, NoAnswer) as error:
            raise FleetError(why_unreachable(self.address, error)) from None
        for address in [*self._machines]:
            if address not in machines:
                log.warning("%s has left the fleet.", self._machines[address].name)
                self._lose([address], f"{self._machines[address].name} was lost.")
        with self._change:
            for address in self._losses:  # may be in an answer that was on its way
                machines.pop(address, None)
            new = machines.keys() - self._machines.keys()
            self._machines = machines
        for address in new:
            if machines[address].refused:
                log.warning("%s is not used. %s", machines[address].name, machines[address].refused)
        if new:
            self._on_room()

    def _lose(self, addresses: list[str], why: str) -> None:
        with self._change:
            for address in addresses:
                self._machines.pop(address, None)
            jobs = [job for job, address in self._jobs.items() if address in addresses]
        for job in jobs:
            job.on_lost(why)

    def _on_event(self, event: tuple[float, Any]) -> None:
        """Pass a message on to its job; called by Dask for the messages of all servers' jobs."""
        _, message = event
        with self._change:
            job = self._orders.get(message["order"])
        if job is not None:
            job.on_message(message)

    def _end_scheduler(self) -> None:
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.terminate()
            try:
                scheduler.communicate(timeout=END_TIMEOUT_S)
            except subprocess.TimeoutExpired:  # it waits for a machine that does not answer
                scheduler.kill()
                scheduler.communicate()

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                client.close(timeout=2)


def best_machine(
    machines: Iterable[MachineInfo], jobs: Mapping[str, int], dataset: str, only: str = ""
) -> MachineInfo | None:
    """Return a machine with a free slot, at best one with the data and a GPU; None if there is none.

    Args:
        machines: The machines that are connected.
        jobs: How many jobs each has, by its address.
        dataset: Name of the data set.
        only: Name of the one machine that may get it; empty for any.
    """
    free = [
        (machine.slots - jobs.get(machine.address, 0), machine)
        for machine in machines
        if machine.can_train(dataset) and only in ("", machine.name)
    ]

    def merit(choice: tuple[int, MachineInfo]) -> tuple[bool, bool, int]:
        slots, machine = choice
        return dataset in machine.datasets, machine.gpus > 0, slots

    return max((choice for choice in free if choice[0] > 0), key=merit, default=(0, None))[1]
