"""The fleet as a server sees it that shares a folder with the machines."""

import contextlib
import hashlib
import itertools
import logging
import secrets
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.fleet.errors import MachineLostError
from dmlviz.fleet.folder import (
    MAX_RUN_BYTES,
    POLL_S,
    STALE_S,
    Beat,
    Pulse,
    check_folder,
    read_message,
)
from dmlviz.fleet.orders import Record, content_of, dataset_of, order_id
from dmlviz.fleet.placing import best_machine
from dmlviz.fleet.remote_job import RemoteJob
from dmlviz.fleet.versions import refusal, versions
from dmlviz.jobs.placement import EventQueue, JobWorker, MachineInfo
from dmlviz.storage.files import ensure_dir, read_json, write_json

log = logging.getLogger(__name__)


def list_machines(pulse: Pulse) -> list[MachineInfo]:
    """Return the machines of a folder that live, by name."""
    here = versions()
    return [
        MachineInfo(
            name=name,
            address=f"{name}/{str(facts.get('instance'))[:16]}",
            slots=_count(facts.get("slots")),
            gpus=_count(facts.get("gpus")),
            datasets=tuple(map(str, facts["datasets"])) if isinstance(facts.get("datasets"), list) else (),
            versions=facts["versions"] if isinstance(facts.get("versions"), dict) else {},
            busy=_count(facts.get("busy")),
            refused=refusal(facts.get("versions"), here),
        )
        for name, facts in sorted(pulse.living().items())
    ]


def server_name(runs: Path) -> str:
    """Return the name of the server that keeps its runs in a folder: 8 hexadecimal digits."""
    return hashlib.sha256(f"{socket.gethostname()}:{runs.resolve()}".encode()).hexdigest()[:8]


class FolderFleet:
    """Sends trainings to the machines that look into a shared folder.

    Args:
        folder: The folder.
        server: Name of this server, 8 hexadecimal digits; the same after a restart, so that its old orders are known.
        stale_s: Seconds without a sign of life after which a machine is lost.
    """

    def __init__(self, folder: Path, server: str, stale_s: float = STALE_S) -> None:
        self.folder = check_folder(folder)
        self.trouble = ""
        self._name = server
        self._beat = Beat(self.folder / "servers" / f"{self._name}.json", {})
        self._pulse = Pulse(self.folder / "machines", stale_s, benefit=False)
        self._machines: dict[str, MachineInfo] = {}
        self._links: dict[RemoteJob, _FolderLink] = {}
        self._jobs: dict[RemoteJob, str] = {}  # the address of each one's machine
        self._numbers = itertools.count(secrets.randbelow(10**8))  # not those of this server before it was ended
        self._change = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="fleet", daemon=True)

    def start(self, events: EventQueue, on_room: Callable[[], object]) -> None:
        """Begin to watch the folder; see `dmlviz.jobs.placement.Fleet`."""
        self._events = events
        self._on_room = on_room
        for path in self.folder.glob(f"orders/*/{self._name}-*"):  # of this server before it was ended
            shutil.rmtree(path, ignore_errors=True)
        self._thread.start()

    @property
    def machines(self) -> list[MachineInfo]:
        """The machines that live, by name."""
        with self._change:
            return [*self._machines.values()]

    def can_train(self, dataset: str) -> bool:
        """Whether a machine, now free or not, could train on this data set."""
        machines = self.machines
        return any(machine.can_train(dataset) for machine in machines) or (
            not machines and dataset in DATASETS.builtin  # one will come
        )

    def dispatch(self, record: Record, only: str = "") -> JobWorker | None:
        """Give a job to a machine with a free slot, or to the one named `only`; None when there is none."""
        with self._change:
            machine = best_machine(self._machines.values(), Counter(self._jobs.values()), dataset_of(record), only)
            if machine is None or self._closing.is_set():
                return None
            path = self.folder / "orders" / machine.name / f"{self._name}-{next(self._numbers)}-{order_id(record)}"
            job = RemoteJob(
                record,
                machine.name,
                self._events,
                connect=lambda job: self._connect(path, job),
                on_end=self._forget,
            )
            self._jobs[job] = machine.address
        job.start()
        return job

    def close(self) -> None:
        """Leave the fleet; its machines keep the trainings under way for a while, for when this server is back."""
        self._closing.set()
        self._lose([*self._machines], "The server was ended.")
        with self._change:
            jobs = [*self._jobs]
        for job in jobs:
            job.join(5)
        self._thread.join(5)
        with contextlib.suppress(OSError):
            self._beat.close()

    def _connect(self, path: Path, job: RemoteJob) -> "_FolderLink":
        link = _FolderLink(path, job, self._name)
        with self._change:
            self._links[job] = link
        return link

    def _forget(self, job: RemoteJob, lost: bool) -> None:
        with self._change:
            address = self._jobs.pop(job)
            self._links.pop(job, None)
            if lost:  # until the next look the job must not go there again
                self._machines.pop(address, None)

    def _watch(self) -> None:
        """Say that this server lives, look who else does, and pass on what machines have written."""
        while not self._closing.wait(POLL_S):
            try:
                self._beat.write()
                self._refresh()
                self.trouble = ""
            except OSError as error:
                sentence = f"The fleet's folder {self.folder} cannot be used: {error.strerror}."
                if sentence != self.trouble:
                    log.warning(sentence)
                self.trouble = sentence
                self._lose([*self._machines], "The fleet was lost.")
            with self._change:
                links = [*self._links.values()]
            for link in links:
                link.look()

    def _refresh(self) -> None:
        if not (self.folder / "machines").is_dir():
            raise FileNotFoundError(2, "No such file or directory")
        found = {machine.address: machine for machine in list_machines(self._pulse)}
        for address in self._machines.keys() - found.keys():
            name = self._machines[address].name
            log.warning("%s has left the fleet.", name)
            self._lose([address], f"{name} was lost.")
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
            jobs = [job for job, address in self._jobs.items() if address in addresses or self._closing.is_set()]
        for job in jobs:
            job.on_lost(why)


class _FolderLink:
    """The way to the machine that does one job: the folder of its order."""

    def __init__(self, path: Path, job: RemoteJob, server: str) -> None:
        self._path, self._job = path, job
        self._next = 0
        self._over = False
        order = {"server": server, **content_of(job.record)}
        try:
            ensure_dir(path / "messages")
            write_json(path / "order.json", order)
        except (OSError, UserError) as error:
            raise MachineLostError(f"The fleet's folder cannot be written to ({error}).") from None

    def look(self) -> None:
        """Pass on what the machine has written since the last look."""
        if self._over:
            return
        if not (self._path / "order.json").exists():
            self._over = True
            self._job.on_lost(f"{self._job.machine} has given the training up.")
            return
        is_last = (self._path / "run.zip").exists() or (self._path / "error.json").exists()
        try:
            while (message := read_message(self._path / "messages" / f"{self._next:06}.json")) is not None:
                self._next += 1
                self._job.on_message(message)
        except UserError as error:
            self._end(_raise(error))
            return
        if is_last:
            self._end(self._fetch)

    def message_from(self, first: int) -> dict[str, Any] | None:
        """Return None: files are never missed, so that there is nothing to ask for again."""
        return None

    def stop(self, force: bool) -> None:
        """Stop the job between two batches, or at once."""
        try:
            (self._path / ("kill" if force else "stop")).touch()
        except OSError as error:
            raise MachineLostError(f"The fleet's folder cannot be written to ({error.strerror}).") from None

    def close(self) -> None:
        """Delete the order: nobody waits for it any more."""
        self._over = True
        shutil.rmtree(self._path, ignore_errors=True)

    def _end(self, fetch: Callable[[], bytes]) -> None:
        self._over = True
        self._job.on_result(fetch)

    def _fetch(self) -> bytes:
        failure = read_json(self._path / "error.json")
        if isinstance(failure, dict):
            raise UserError(str(failure.get("sentence"))[:1000])
        try:
            if (self._path / "run.zip").stat().st_size > MAX_RUN_BYTES:
                raise UserError("Its run is larger than any run may be.")
            return (self._path / "run.zip").read_bytes()
        except OSError as error:
            raise MachineLostError(f"{self._job.machine} did not send its run ({error.strerror}).") from None


def _raise(error: Exception) -> Callable[[], bytes]:
    def fetch() -> bytes:
        raise error

    return fetch


def _count(value: object) -> int:
    return min(256, max(0, value)) if isinstance(value, int) else 0
