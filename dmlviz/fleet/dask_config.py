"""Configuration of Dask on every machine of the fleet."""

import json
import socket
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dmlviz.fleet import FleetError, import_extra

DEFAULT_PORT = 8786
FILE = "file:"  # of an address: the file into which the scheduler writes its own
TOPIC = "dmlviz"  # one for all jobs: Dask never deletes a topic
SLOT, GPU = "slot", "GPU"  # resources
# The address of Dask's HTTP server until it is stopped: no option keeps it from starting, and it asks for
# no certificate.
LOOPBACK = "127.0.0.1:0"

CONFIG: dict[str, Any] = {
    "distributed.comm.require-encryption": True,
    "distributed.comm.compression": False,  # frames and arrays hardly shrink
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.scheduler.allowed-failures": 0,  # a lost job is restarted by our own scheduler, which reports it
    "distributed.scheduler.worker-ttl": "30s",
    "distributed.scheduler.work-stealing": False,  # a job stays where the page says that it is
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.low-level-log-length": 100,  # messages that the scheduler keeps, each with a frame
    # Messages for people are written by this package.
    "logging": dict.fromkeys(("distributed", "distributed.client", "distributed.worker"), "critical"),
    "distributed.admin.tick.limit": "30s",  # no warnings about a busy machine
    # What only Dask's own pages show, which are off. It took 2% of a processor of each machine that waits.
    "distributed.admin.tick.interval": "5s",
    "distributed.admin.system-monitor.interval": "5s",
}


def configure_dask() -> None:
    """Set Dask's options for this process; raise FleetError where Dask is not installed."""
    import_extra("dask")
    import dask

    dask.config.set(CONFIG)
    import_extra("distributed")  # it sets up its logging when it is imported


def check_address(address: str) -> str:
    """Return an address, tls://HOST[:PORT] or file:PATH, with the port; raise FleetError for any other."""
    if address.startswith(FILE) and address != FILE:
        return address
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, DEFAULT_PORT if parts.port is None else parts.port
    except ValueError:
        host, port = None, 0
    if host is None or parts.scheme != "tls" or parts.path not in ("", "/") or parts.query or parts.username:
        hint = " A fleet is always encrypted." if address.startswith("tcp:") else ""
        raise FleetError(
            "The address of a fleet is tls://HOST:PORT, as in tls://192.168.0.2:8786, or file:PATH of a scheduler "
            f"file; got {address}.{hint}"
        )
    return f"tls://[{host}]:{port}" if ":" in host else f"tls://{host}:{port}"


def scheduler_address(address: str) -> str:
    """Return the tls:// address of the scheduler now; of file:PATH what the scheduler has written there.

    Raises:
        OSError: If there is no such file.
        ValueError: If it is not the file of a scheduler.
    """
    if not address.startswith(FILE):
        return address
    try:
        text = json.loads(Path(address.removeprefix(FILE)).read_bytes())["address"]
        host_and_port(check_address(text))
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, FleetError):
        raise ValueError("not a scheduler file") from None
    return str(text)


def host_and_port(address: str) -> tuple[str, int]:
    """Split a tls:// address that `check_address` has returned."""
    parts = urlsplit(address)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def is_this_machine(address: str) -> bool:
    """Return whether the host of an address is one of this machine."""
    host, _ = host_and_port(address)
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)
    except OSError:
        return False
    return True


def is_listening(address: str) -> bool:
    """Return whether a program listens at an address."""
    try:
        socket.create_connection(host_and_port(address), timeout=1).close()
    except OSError:
        return False
    return True


def why_unreachable(address: str, error: BaseException) -> str:
    """Say in a sentence why a scheduler could not be reached."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return (
            f"The fleet at {address} has other certificates than this machine; "
            "copy the folder of the certificates from the server."
        )
    if any(isinstance(cause, FileNotFoundError) for cause in causes):
        return (
            f"No scheduler has written {address.removeprefix(FILE)} yet: start one with dmlviz fleet scheduler "
            "tls://HOST:PORT --scheduler-file FILE."
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"The host of {address} is not known; check the name."
    return f"There is no answer from {address}; check the address, and that the server is running."
