"""A machine of a Dask fleet: it joins the scheduler, does what the servers order, and comes back after every fault."""

import asyncio
import contextlib
import json
import signal
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dmlviz.data import available_datasets
from dmlviz.fleet import FleetError
from dmlviz.fleet.certificates import load_security
from dmlviz.fleet.dask_config import GPU, LOOPBACK, SLOT, TOPIC, configure_dask, scheduler_address, why_unreachable
from dmlviz.fleet.machine import Machine, Message
from dmlviz.fleet.versions import gpu_count, refusal, versions

if TYPE_CHECKING:
    from distributed.security import Security

RETRY_S = 1.0  # seconds between two attempts to join
START_TIMEOUT_S = 120.0  # seconds to join; with less, a busy machine joins and leaves again while it gets an order

_machine: Machine | None = None  # of this process; set before Dask may send an order


def work(order: str, content: str) -> bytes:
    """Carry out the order and return the packed result; messages go to the topic. Runs in a worker's thread.

    Args:
        order: Name of the order.
        content: The order, as JSON.
    """
    from distributed import get_worker

    worker = get_worker()
    assert _machine is not None

    def send(message: Message) -> None:
        worker.log_event(TOPIC, {"order": order, **message})

    def is_awaited() -> bool:
        # A task that is not awaited any more is "cancelled" or gone, while its thread goes on.
        task = worker.state.tasks.get(order)
        return task is not None and task.state == "executing"

    return _machine.work(order, json.loads(content), send, is_awaited)


def message_from(order: str, first: int) -> Message | None:
    """Called by a server through `Client.run`: the message from line number `first` on."""
    return None if _machine is None else _machine.message_from(order, first)


def stop(order: str, force: bool) -> None:
    """Called by a server through `Client.run`: stop an order."""
    if _machine is not None:
        _machine.stop(order, force)


async def run_worker(
    address: str,
    *,
    slots: int,
    name: str | None = None,
    data: Path | None = None,
    certificates: Path | None = None,
    say: Callable[[str], object] = print,
) -> None:
    """Work for the fleet until SIGINT or SIGTERM; join again whenever the connection was lost.

    Args:
        address: The scheduler's address, as `check_address` returns it.
        slots: How many trainings at a time.
        name: The machine's name on the page; the host's by default.
        data: The data folder.
        certificates: The folder of the certificates.
        say: Gets a sentence whenever something has changed.

    Raises:
        FleetError: If this machine does not fit the fleet: other versions, other or no certificates.
    """
    global _machine
    configure_dask()
    security = load_security(certificates)
    name = name or socket.gethostname()
    machine = None
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    last_sentence = ""
    try:
        while not end.is_set():
            try:
                scheduler = scheduler_address(address)
                await _check_versions(scheduler, security)
                if machine is None:  # who is refused starts no workers
                    _machine = machine = await asyncio.to_thread(_prepare, slots, data)
                await _join(scheduler, security, machine, slots, name, data, end, say)
                last_sentence = ""
            except FleetError:
                raise
            except (OSError, ValueError, RuntimeError) as error:
                sentence = _why_not_joined(address, name, error)
                if sentence != last_sentence:
                    say(f"{sentence} Trying again …")
                last_sentence = sentence
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), RETRY_S)
    finally:
        if machine is not None:
            await asyncio.to_thread(machine.close)


def _prepare(slots: int, data: Path | None) -> Machine:
    try:
        return Machine(slots, data)
    except OSError as error:
        raise FleetError(f"This machine has no place to work in: {error}") from None


async def _join(
    address: str,
    security: "Security",
    machine: Machine,
    slots: int,
    name: str,
    data: Path | None,
    end: asyncio.Event,
    say: Callable[[str], object],
) -> None:
    """Be a worker of the scheduler until the connection is lost or this process should end."""
    from distributed import Worker, WorkerPlugin

    class Leave(WorkerPlugin):
        """Dask waits up to 30 seconds for the tasks of a worker that closes: end them first."""

        def teardown(self, worker: Worker) -> None:
            machine.abandon_all()

    worker = Worker(
        address,
        name=name,
        nthreads=slots,
        resources={SLOT: slots, GPU: gpu_count()},
        security=security,
        memory_limit=0,
        local_directory=str(machine.scratch / "dask"),
        dashboard_address=LOOPBACK,
        death_timeout=START_TIMEOUT_S,
        plugins=(Leave(),),
        startup_information={"dmlviz": lambda _: versions(), "datasets": lambda _: available_datasets(data)},
    )
    async with worker:
        worker.http_server.stop()
        say(f"{name} has joined the fleet at {address} with {slots} slot{'s' if slots > 1 else ''}.")
        waiting = [asyncio.ensure_future(end.wait()), asyncio.ensure_future(worker.finished())]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if not end.is_set():
            say(f"{name} has lost the fleet at {address}.")


async def _check_versions(address: str, security: "Security") -> None:
    """Raise FleetError unless this machine has the versions of the scheduler."""
    from distributed import Client

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own words on versions; ours are below
        async with Client(address, security=security, asynchronous=True, timeout=5, set_as_default=False) as client:
            theirs = await client.run_on_scheduler(versions)
    if why := refusal(versions(), theirs):
        raise FleetError(f"This machine is refused by the fleet. {why}")


def _why_not_joined(address: str, name: str, error: BaseException) -> str:
    if "name taken" in str(error):
        return f"The fleet has a machine named {name} already, or has just lost one; choose another with --name."
    sentence = why_unreachable(address, error)
    if "certificates" in sentence:
        raise FleetError(sentence) from None
    return sentence
