"""The fleet as a server sees it: which machines are there, and jobs sent to them, over Dask."""

import contextlib
import itertools
import json
import logging
import secrets
import subprocess
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.fleet import dask_worker
from dmlviz.fleet.certificates import load_security
from dmlviz.fleet.dask_config import (
    GPU,
    SLOT,
    TOPIC,
    check_address,
    configure_dask,
    is_listening,
    is_this_machine,
    why_unreachable,
)
from dmlviz.fleet.dask_scheduler import start_scheduler
from dmlviz.fleet.errors import FleetError, MachineLostError
from dmlviz.fleet.orders import Record, content_of, dataset_of, order_id
from dmlviz.fleet.placing import best_machine
from dmlviz.fleet.remote_job import RemoteJob
from dmlviz.fleet.versions import refusal, versions
from dmlviz.jobs.placement import EventQueue, JobWorker, MachineInfo

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture
    from distributed.security import Security

REFRESH_S = 1.0  # seconds between two looks at which machines there are
CALL_TIMEOUT_S = 3.0  # seconds for a machine to answer a question
LOOK_TIMEOUT_S = 60.0  # seconds for the scheduler to say which machines there are
END_TIMEOUT_S = 5.0  # seconds for the scheduler to end
RESULT_TIMEOUT_S = 120.0  # seconds for a packed run to come
log = logging.getLogger(__name__)


def connect(address: str, security: "Security") -> "Client":
    """Connect to a scheduler.

    Raises:
        FleetError: If nobody answers, or the certificates are of another fleet.
    """
    configure_dask()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Dask's own words on versions; ours are on each machine
            return start_client(address, security=security, timeout=5, set_as_default=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise FleetError(why_unreachable(address, error)) from None


def start_client(address: str, **options: Any) -> "Client":
    """Start Dask's client; one that does not connect is closed before its error is raised.

    A client that is left to the garbage collector closes itself there, which waits for a lock that the same thread
    holds while it starts the next client: it would stand still for ever. All clients share one event loop, since one
    that does not connect leaves its own running.
    """
    from distributed import Client

    client = Client.__new__(Client)
    try:
        Client.__init__(client, address, loop=_event_loop(), **options)
    except BaseException:
        with contextlib.suppress(Exception):
            client.close()
        raise
    return client


@cache
def _event_loop() -> Any:
    """Return the event loop of this process's clients, in a thread of its own."""
    from distributed.utils import LoopRunner

    runner = LoopRunner()
    runner.start()
    return runner.loop


def list_machines(client: "Client") -> list[MachineInfo]:
    """Return the machines that are connected to a scheduler now, by name."""
    here = versions()
    found = []
    for address, told in client.scheduler_info()["workers"].items():
        theirs = told.get("dmlviz")
        found.append(
            MachineInfo(
                name=str(told["name"])[:60],
                address=address,
                slots=int(told["resources"].get(SLOT, 0)),
                gpus=int(told["resources"].get(GPU, 0)),
                datasets=tuple(told.get("datasets", ())),
                versions=theirs if isinstance(theirs, dict) else {},
                busy=int(told.get("metrics", {}).get("task_counts", {}).get("executing", 0)),
                refused=refusal(theirs, here),
            )
        )
    return sorted(found, key=lambda machine: machine.name)


def answer_within(seconds: float, ask: Callable[[], Any]) -> Any:
    """Return what `ask` returns, or raise what it raises; raise TimeoutError when it takes longer.

    One that never returns is left alone in a daemon thread; the threads of an executor would keep the program from
    ending.
    """
    answer: Future[Any] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=work, name="fleet call", daemon=True).start()
    return answer.result(seconds)


class DaskFleet:
    """Sends trainings and trials to the machines that are connected to a Dask scheduler.

    Where nobody listens at the address and it is one of this machine, the scheduler is started here, and started
    again when it was killed.

    Args:
        address: tls://HOST:PORT of the scheduler.
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
        """Whether a machine, now free or not, could train on this data set."""
        machines = self.machines
        return any(machine.can_train(dataset) for machine in machines) or (
            not machines and dataset in DATASETS.builtin  # one will come
        )

    def dispatch(self, record: Record, only: str = "") -> JobWorker | None:
        """Give a job to a machine with a free slot, at best one with its data and a GPU; None without any."""
        with self._change:
            client = self._client
            if client is None or client.status != "running" or self._closing.is_set():
                return None
            taken = Counter(self._jobs.values())
            machine = best_machine(self._machines.values(), taken, dataset_of(record), only=only)
            if machine is None:
                return None
            address = machine.address
            # Not the bare id of the run: another server may train the same, and so may this one, begun again.
            order = f"{self._name}-{next(self._numbers)}-{order_id(record)}"
            job = RemoteJob(
                record,
                machine.name,
                self._events,
                connect=lambda job: _DaskLink(client, order, address, job),
                on_end=lambda job, lost: self._forget(order, job, lost),
            )
            self._jobs[job] = address
            self._orders[order] = job
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
            if self._scheduler is None and is_this_machine(self.address) and not is_listening(self.address):
                self._scheduler = start_scheduler(self.address, self._certificates)
            self._client = connect(self.address, self._security)
            self._client.subscribe_topic(TOPIC, self._on_event)
            self.trouble = ""

    def _refresh(self) -> None:
        assert self._client is not None
        try:
            client = self._client
            answer = answer_within(LOOK_TIMEOUT_S, lambda: list_machines(client))
            found = {machine.address: machine for machine in answer}
        except (OSError, RuntimeError, NoAnswer) as error:
            raise FleetError(why_unreachable(self.address, error)) from None
        for address in [*self._machines]:
            if address not in found:
                log.warning("%s has left the fleet.", self._machines[address].name)
                self._lose([address], f"{self._machines[address].name} was lost.")
        with self._change:
            new = found.keys() - self._machines.keys()
            self._machines = found
        for address in new:
            if found[address].refused:
                log.warning("%s is not used. %s", found[address].name, found[address].refused)
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


class _DaskLink:
    """The way to the machine that does one job: a Dask task for the job, `Client.run` for everything else."""

    def __init__(self, client: "Client", order: str, address: str, job: RemoteJob) -> None:
        self._client, self._order, self._address, self._job = client, order, address, job
        try:
            self._future = client.submit(
                dask_worker.work,
                order,
                json.dumps(content_of(job.record)),
                key=order,
                workers=[address],
                allow_other_workers=False,
                resources={SLOT: 1},
                retries=0,
                pure=False,
            )
            self._future.add_done_callback(self._on_done)
        except (OSError, RuntimeError) as error:
            raise MachineLostError(f"{job.machine} could not be reached ({error}).") from None

    def message_from(self, first: int) -> dict[str, Any] | None:
        message: dict[str, Any] | None = self._call(dask_worker.message_from, first)
        return message

    def stop(self, force: bool) -> None:
        self._call(dask_worker.stop, force)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._future.release()

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        # `Future.cancel` would free the slot while the training goes on; the machine itself must end it.
        try:
            answers = answer_within(
                CALL_TIMEOUT_S,
                lambda: self._client.run(function, self._order, *arguments, workers=[self._address]),
            )
            return answers[self._address]
        except (OSError, RuntimeError, ValueError, KeyError, NoAnswer) as error:
            raise MachineLostError(f"{self._job.machine} gives no answer ({type(error).__name__}).") from None

    def _on_done(self, future: "DaskFuture[bytes]") -> None:
        self._job.on_result(self._fetch)

    def _fetch(self) -> bytes:
        from distributed import KilledWorker

        future, name = self._future, self._job.machine
        if future.status == "error":
            error = future.exception(timeout=CALL_TIMEOUT_S)
            if isinstance(error, KilledWorker):
                log.warning("%s has died.", name)
                raise MachineLostError(f"{name} was lost.")
            assert isinstance(error, BaseException)
            raise error
        if future.status != "finished":
            raise MachineLostError(f"{name} was lost." if self._client.status == "running" else "The fleet was lost.")
        try:
            return bytes(future.result(timeout=RESULT_TIMEOUT_S))
        except (OSError, RuntimeError, NoAnswer) as error:
            raise MachineLostError(f"{name} did not send its run ({type(error).__name__}).") from None
