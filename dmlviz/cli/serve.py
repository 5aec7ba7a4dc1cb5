"""`dmlviz serve`: run the app in this process until Ctrl-C."""

import errno
import os
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from dmlviz.cli import CertificatesFolder, DataFolder, RunsFolder, single_command_app
from dmlviz.errors import UserError

app = single_command_app()
MONITORING = "Log and metrics (docs/OPERATIONS.md)"
PEOPLE = "Several people (docs/PEOPLE.md)"


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
    slots: Annotated[
        int | None,
        typer.Option(min=0, max=256, help="trainings at a time on this machine (default: the cores less one)"),
    ] = None,
    fleet: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            envvar="DMLVIZ_FLEET",
            help="train first on the machines at tls://HOST:PORT, or that share folder:DIR",
        ),
    ] = None,
    certificates: CertificatesFolder = None,
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
    base_path: Annotated[
        str,
        typer.Option(metavar="PATH", envvar="DMLVIZ_BASE_PATH", help="path that a proxy has before the app: /x/y"),
    ] = "",
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            envvar="DMLVIZ_ALLOWED_HOSTS",
            help="name by which the server may be asked besides localhost; may be repeated; * for any "
            "(default: any, but on loopback)",
        ),
    ] = None,
    embed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            envvar="DMLVIZ_EMBED",
            help="site that may show the app in a frame, such as https://school.example; may be repeated",
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="DMLVIZ_TOKEN",
            help="access token that a browser must know, at least 16 characters "
            "(default: a new one at each start; none on loopback)",
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", envvar="DMLVIZ_NO_TOKEN", help="let everybody in who reaches the server")
    ] = False,
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
    page: Annotated[str, typer.Option(hidden=True, help="page to open, as a query: ?run=ID")] = "",
) -> None:
    """Open the app: watch runs, train, draw a digit and see where it lands. Press Ctrl-C to stop."""
    check_port_free(host, port)
    from app.runtime.hosting import ANY_ADDRESS, LOOPBACK, Hosting
    from app.runtime.identity import access_settings
    from app.runtime.monitoring import Monitoring
    from app.server import Settings
    from app.server import serve as serve_app
    from dmlviz.runs.quota import parse_limit
    from dmlviz.runs.store import runs_folder
    from dmlviz.storage.files import ensure_dir

    def ready(address: str) -> None:
        address = f"{address}/{page}" if page else address
        print(f"\n  Serving dmlviz at {address}  (Ctrl-C to stop)", flush=True)
        if host in ANY_ADDRESS and (name := network_address()) is not None:
            print(f"  In this network:   {hosting.link(name, urlsplit(address).port or port)}", flush=True)
        if hosting.token and host not in LOOPBACK:
            print("  Whoever has this link can open the app and train: it holds the access token.", flush=True)
        elif needs_token:
            print("  Warning: anyone who reaches this machine can open the app and train.", flush=True)
        if not access.alone:
            print(f"  {access.summary}", flush=True)
        if browser and has_browser():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

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
    needs_token = host not in LOOPBACK and not (access.user_header or access.login)  # these say who comes in
    hosting = Hosting(
        base_path=base_path,
        allowed_hosts=tuple(allowed_host or ()),
        embedders=tuple(embed or ()),
        token=None if no_token else token or (secrets.token_hex(16) if needs_token else None),
    )
    os.environ["FORWARDED_ALLOW_IPS"] = forwarded_allow_ips  # uvicorn reads it, and else believes all of this machine
    print("Starting …", end="\r", flush=True)
    limit = parse_limit(disk_limit)
    settings = Settings(
        runs=ensure_dir(runs_folder(runs)),
        data=data,
        slots=slots,
        host=host,
        port=port,
        disk_limit=limit,
        access=access,
        hosting=hosting,
        fleet=fleet,
        certificates=certificates,
        monitoring=monitoring,
    )
    serve_app(settings, on_ready=ready)


def check_port_free(host: str, port: int) -> None:
    """Raise UserError if the server could not listen on this host and port."""
    bound_socket(host, port).close()


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a TCP socket that is bound to this host and port (0 = any); raise UserError if none can be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
        return bound
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


def network_address() -> str | None:
    """Return the address by which other machines see this one; None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: it only chooses the interface
        except OSError:
            return None
        return str(probe.getsockname()[0])


def has_browser() -> bool:
    """Return whether a graphical browser is available; a text browser would take over the terminal."""
    if sys.platform not in ("win32", "darwin") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
