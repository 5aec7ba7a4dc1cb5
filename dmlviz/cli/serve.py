"""`dmlviz serve`: run the app in this process until Ctrl-C."""

import errno
import os
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.errors import UserError

app = single_command_app()
MONITORING = "Log and metrics (docs/OPERATIONS.md)"
PEOPLE = "Several people (docs/PEOPLE.md)"
ANY_HOST = ("0.0.0.0", "::", "")


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="address to listen on; 0.0.0.0 for all interfaces")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 = any free port")] = 8501,
    data: DataFolder = None,
    runs: RunsFolder = None,
    disk_limit: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            help="disk quota for runs; oldest unpinned runs are evicted (default: DMLVIZ_DISK_LIMIT, else 5)",
        ),
    ] = None,
    shared: Annotated[
        bool | None,
        typer.Option(
            "--shared/--not-shared",
            help="each browser has its own runs and data; the default if others can reach the address",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="DMLVIZ_PEOPLE",
            help="roles and limits of people, as TOML (docs/PEOPLE.md)",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    user_header: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            envvar="DMLVIZ_USER_HEADER",
            help="header in which the proxy names the person, e.g. X-Forwarded-User; needs --forwarded-allow-ips",
            rich_help_panel=PEOPLE,
        ),
    ] = "",
    forwarded_allow_ips: Annotated[
        str,
        typer.Option(
            metavar="ADDRESSES",
            envvar="FORWARDED_ALLOW_IPS",
            help="proxies whose X-Forwarded-Proto and X-Forwarded-For are believed, separated by commas; * for all",
        ),
    ] = "",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open a browser")] = True,
    log_format: Annotated[
        str,
        typer.Option(
            metavar="text|json",
            envvar="DMLVIZ_LOG_FORMAT",
            help="format of the log: key=value, or one JSON object a line",
            rich_help_panel=MONITORING,
        ),
    ] = "text",
    log_level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            envvar="DMLVIZ_LOG_LEVEL",
            help="what is logged: debug, info, warning or error, and what is more important",
            rich_help_panel=MONITORING,
        ),
    ] = "info",
    metrics_token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="DMLVIZ_METRICS_TOKEN",
            help="token that a program must send to read the metrics (default: only this machine may read them)",
            rich_help_panel=MONITORING,
        ),
    ] = None,
) -> None:
    """Open the app: watch runs, train, draw a digit and see where it lands. Press Ctrl-C to stop."""
    check_port_free(host, port)
    from app.runtime.identity import access_settings
    from app.runtime.monitoring import Monitoring
    from app.server import LOOPBACK, Settings
    from app.server import serve as serve_app
    from dmlviz.runs.quota import parse_limit
    from dmlviz.runs.store import runs_folder
    from dmlviz.storage.files import ensure_dir

    def ready(address: str) -> None:
        print(f"\n  Serving dmlviz at {address}  (Ctrl-C to stop)", flush=True)
        if host in ANY_HOST:
            print("  Warning: anyone on this network can open it and start trainings.", flush=True)
        if not access.alone:
            print(f"  {access.summary}", flush=True)
        if browser and has_browser():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    print("Starting …", end="\r", flush=True)
    limit = parse_limit(disk_limit)
    monitoring = Monitoring(
        log_format=log_format,  # type: ignore[arg-type]  # it checks them
        log_level=log_level,  # type: ignore[arg-type]
        metrics_token=metrics_token or None,
    )
    access = access_settings(
        shared=shared,
        people=people,
        user_header=user_header,
        proxies=forwarded_allow_ips,
        reachable=host not in LOOPBACK,
    )
    settings = Settings(
        runs=ensure_dir(runs_folder(runs)),
        data=data,
        host=host,
        port=port,
        disk_limit=limit,
        access=access,
        monitoring=monitoring,
    )
    serve_app(settings, on_ready=ready)


def check_port_free(host: str, port: int) -> None:
    """Raise UserError if the server could not listen on this host and port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror:
        raise UserError(f"Cannot resolve address {host!r}; use 127.0.0.1, or 0.0.0.0 for all interfaces.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UserError(
                f"Port {port} is in use, perhaps by another dmlviz; choose another with --port (0 = any)."
            ) from None
        if error.errno == errno.EACCES:
            raise UserError(f"Permission denied for port {port}; use one above 1023.") from None
        raise UserError(f"Cannot listen on {host} port {port}: {error.strerror}.") from None


def has_browser() -> bool:
    """Return whether a graphical browser is available; a text browser would take over the terminal."""
    if sys.platform not in ("win32", "darwin") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
