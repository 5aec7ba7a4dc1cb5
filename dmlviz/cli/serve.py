"""`dmlviz serve`: the app, in this process, until Ctrl-C."""

import errno
import os
import socket
import sys
import threading
import webbrowser
from typing import Annotated

import typer

from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.errors import UserError

app = single_command_app()
ANY_HOST = ("0.0.0.0", "::", "")


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="address to listen on; 0.0.0.0 lets the whole network in")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 takes a free one")] = 8501,
    data: DataFolder = None,
    runs: RunsFolder = None,
    disk_limit: Annotated[
        float | None,
        typer.Option(metavar="GB", help="room for runs; beyond it the oldest unpinned ones go (DMLVIZ_DISK_LIMIT, 5)"),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open a browser where there is one")] = True,
) -> None:
    """Open the app: watch runs, train, draw a digit and see where it lands. Ctrl-C ends it."""
    check_port_free(host, port)
    from app.server import Settings
    from app.server import serve as serve_app
    from dmlviz.runs.quota import parse_limit
    from dmlviz.runs.store import runs_folder
    from dmlviz.storage.files import ensure_dir

    def ready(address: str) -> None:
        print(f"\n  dmlviz is at {address}\n\n  Ctrl-C ends it.", flush=True)
        if host in ANY_HOST:
            print("  Everybody in this network can open it and train.", flush=True)
        if browser and has_browser():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    print("Starting …", end="\r", flush=True)
    room = parse_limit(disk_limit)
    settings = Settings(runs=ensure_dir(runs_folder(runs)), data=data, host=host, port=port, disk_limit=room)
    serve_app(settings, on_ready=ready)


def check_port_free(host: str, port: int) -> None:
    """Raise UserError, with what to do, where nobody could listen at this address."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror:
        raise UserError(f"There is no address {host!r} to listen on; use 127.0.0.1, or 0.0.0.0 for all.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UserError(
                f"Port {port} is taken, perhaps by another dmlviz; choose one with --port, or any with --port 0."
            ) from None
        if error.errno == errno.EACCES:
            raise UserError(f"Port {port} is not open to programs of yours; choose one above 1023.") from None
        raise UserError(f"Nobody can listen on {host} port {port}: {error.strerror}.") from None


def has_browser() -> bool:
    """Whether a graphical browser can be opened; a text browser would take the terminal over."""
    if sys.platform not in ("win32", "darwin") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
