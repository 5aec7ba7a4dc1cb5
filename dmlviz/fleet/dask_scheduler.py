"""Dask's scheduler, in a process of its own: `python -m dmlviz.fleet.dask_scheduler ADDRESS --certificates FOLDER`.

It carries orders, messages and results. Which job goes where is decided by each server's own scheduler.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from dmlviz.fleet import FleetError
from dmlviz.fleet.certificates import load_security
from dmlviz.fleet.dask_config import LOOPBACK, configure_dask, host_and_port


async def run_scheduler(address: str, certificates: Path | None, scheduler_file: Path | None = None) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        address: Address tls://HOST:PORT to listen at; port 0 takes a free one.
        certificates: The folder of the certificates.
        scheduler_file: Target file of the address, for machines that share a file system; removed at the end.

    Raises:
        FleetError: If the port is in use, the certificates are missing or the file cannot be written.
    """
    configure_dask()
    from distributed import Scheduler

    host, port = host_and_port(address)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    scheduler = Scheduler(
        host=host,
        port=port,
        protocol="tls",
        security=load_security(certificates),
        dashboard=False,
        dashboard_address=LOOPBACK,
        scheduler_file=None if scheduler_file is None else str(scheduler_file),
    )
    try:
        async with scheduler:
            scheduler.http_server.stop()
            print(f"The fleet's scheduler listens at {scheduler.address}.", flush=True)
            await stop.wait()
    except OSError as error:
        what = f"write {scheduler_file}" if error.filename else f"listen at {address}"
        raise FleetError(f"The scheduler cannot {what}: {error.strerror or error}.") from None
    finally:
        if scheduler_file is not None:
            scheduler_file.unlink(missing_ok=True)


def start_scheduler(address: str, certificates: Path | None) -> subprocess.Popen[bytes]:
    """Start it as a child process, which ends with this one."""
    command = [sys.executable, "-P", "-m", "dmlviz.fleet.dask_scheduler", address, "--with-parent"]
    if certificates is not None:
        command += ["--certificates", str(certificates)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=os.environ.copy(), start_new_session=True
    )


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m dmlviz.fleet.dask_scheduler", description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--certificates", type=Path)
    parser.add_argument("--with-parent", action="store_true", help="end when standard input is closed")
    options = parser.parse_args(arguments)
    if options.with_parent:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        asyncio.run(run_scheduler(options.address, options.certificates))
    except FleetError as error:
        sys.exit(str(error))


def _end_with_parent(*_: Any) -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 1 << 10):
            pass
    os._exit(1)


if __name__ == "__main__":
    main()
