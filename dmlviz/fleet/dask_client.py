"""Connections to a Dask scheduler; a failed one is closed, and every wait has a limit."""

import contextlib
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING, Any

from dmlviz.fleet import FleetError
from dmlviz.fleet.dask_config import GPU, SLOT, configure_dask, scheduler_address, why_unreachable
from dmlviz.fleet.versions import refusal, versions
from dmlviz.jobs.placement import MachineInfo

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security


def connect(address: str, security: "Security", timeout_s: float = 5.0) -> "Client":
    """Connect to a scheduler.

    Args:
        address: The scheduler's address, as `check_address` returns it.
        security: The certificates.
        timeout_s: Seconds to wait for an answer.

    Raises:
        FleetError: If there is no answer, or the certificates are of another fleet.
    """
    configure_dask()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Dask's own words on versions; ours are on each machine
            return start_client(scheduler_address(address), security=security, timeout=timeout_s, set_as_default=False)
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
    """Return the machines that are connected to a scheduler now, by name; raise OSError without an answer."""
    ours = versions()
    machines = []
    # Not `scheduler_info`: without an answer it returns what Dask keeps for its display, which names no machine.
    scheduler: Any = client.scheduler
    for address, info in client.sync(scheduler.identity, n_workers=-1)["workers"].items():
        theirs = info.get("dmlviz")
        machines.append(
            MachineInfo(
                name=str(info["name"])[:60],
                address=address,
                slots=int(info["resources"].get(SLOT, 0)),
                gpus=int(info["resources"].get(GPU, 0)),
                datasets=tuple(info.get("datasets", ())),
                versions=theirs if isinstance(theirs, dict) else {},
                busy=int(info.get("metrics", {}).get("task_counts", {}).get("executing", 0)),
                refused=refusal(theirs, ours),
            )
        )
    return sorted(machines, key=lambda machine: machine.name)


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
