"""`dmlviz serve`: run the app in this process until Ctrl-C."""

import os
import secrets
import sys
import threading
import webbrowser
from typing import Annotated
from urllib.parse import urlsplit

import typer
from dmlviz_app.server.settings import ANY_ADDRESS, LOOPBACK, Settings, variable

from dmlviz.catalog.parameters import Fields
from dmlviz.cli import single_command_app
from dmlviz.cli.options import add_config_options
from dmlviz.network import check_port_free, network_address

app = single_command_app()
PANELS = {
    "Several people (dmlviz docs PEOPLE)": ("shared", "people", "user_header"),
    "Log and metrics (dmlviz docs HOSTING)": ("log_format", "log_level", "metrics_token"),
}


def serve(
    settings: Fields,
    page: Annotated[str, typer.Option(hidden=True, help="page to open, as a query: ?run=ID")] = "",
) -> None:
    """Open the app: watch runs, train, draw a digit and see where it lands. Press Ctrl-C to stop."""
    options = Settings(**settings)
    check_port_free(options.host, options.port)  # before the imports, which may take a while
    from dmlviz_app.application import serve as serve_app

    from dmlviz.storage.files import ensure_dir

    access = options.access
    needs_token = options.host not in LOOPBACK and not access.user_header  # a proxy says who comes in
    if needs_token and not (access.tokens or options.no_token):
        options = options.replace(token=secrets.token_hex(16))
        access = options.access

    def ready(address: str) -> None:
        address = f"{address}&{page[1:]}" if page and access.tokens else f"{address}/{page}" if page else address
        print(f"\n  Serving dmlviz at {address}  (Ctrl-C to stop)", flush=True)
        name = network_address() if options.host in ANY_ADDRESS else None
        port = urlsplit(address).port or options.port
        if name is not None:
            print(f"  In this network:   {options.link(port, name)}", flush=True)
        if access.tokens and not access.alone:
            print(f"  For teachers:      {options.link(port, name, 'teacher')}", flush=True)
            print(f"  For guests:        {options.link(port, name, 'guest')}", flush=True)
        if access.tokens and options.host not in LOOPBACK:
            print("  Anyone with such a link can open the app and train: it holds the access token.", flush=True)
        elif needs_token:
            print("  Warning: anyone who reaches this machine can open the app and train.", flush=True)
        if not access.alone:
            print(f"  {access.summary}", flush=True)
        if options.browser and has_browser():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    os.environ["FORWARDED_ALLOW_IPS"] = options.forwarded_allow_ips  # uvicorn reads it; unset, it believes this machine
    print("Starting …", end="\r", flush=True)
    ensure_dir(options.runs)
    serve_app(options, on_ready=ready)


app.command()(add_config_options(serve, Settings, {}, PANELS, rest=None, variable=variable))


def has_browser() -> bool:
    """Return whether a graphical browser is available; a text browser would take over the terminal."""
    if sys.platform not in ("win32", "darwin") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
