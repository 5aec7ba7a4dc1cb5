"""The server: Streamlit's pages and the routes beside them, in one process that never loads torch."""

import asyncio
import importlib
import json
import signal
import threading
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st

from app.api import events, routes
from app.api.middleware import middleware
from app.payloads import sprites
from app.runtime import message_queue, services
from app.runtime.logs import configure_logs
from app.runtime.services import Settings
from app.runtime.threads import enlarge_thread_pool
from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.process_setup import collect_garbage_less_often, freeze_garbage_collector
from dmlviz.runs.damage_cache import run_damage

__all__ = ["PAGE", "Settings", "app_options", "build_app", "options", "serve"]

APP_DIR = Path(__file__).resolve().parent
PAGE = APP_DIR / "page.py"


def serve(settings: Settings, on_ready: Callable[[str], object] = lambda address: None) -> None:
    """Serve until Ctrl-C or SIGTERM; `on_ready` gets the address once it answers. Port 0 takes a free one."""
    build_app(settings, on_ready).run(config=options(settings))


def options(settings: Settings) -> dict[str, Any]:
    """Streamlit's options, as `section.name`: those of the file beside the pages, and where to listen."""
    with open(APP_DIR / ".streamlit" / "config.toml", "rb") as file:
        settings_by_name = dict(_flatten(tomllib.load(file)))
    settings_by_name |= {
        "server.address": settings.host,
        "server.port": settings.port,
        "server.baseUrlPath": settings.hosting.base_path.strip("/"),
    }
    name = "server.trustedUserHeaders"  # as text, which only a file may hold
    settings_by_name[name] = {} if settings.access.alone else json.loads(settings_by_name[name])
    return settings_by_name


def build_app(settings: Settings, on_ready: Callable[[str], object] = lambda address: None) -> st.App:
    """The ASGI app: pages, our own routes, the cookie that tells browsers apart."""
    return st.App(PAGE, **app_options(settings, on_ready))


def app_options(settings: Settings, on_ready: Callable[[str], object] = lambda address: None) -> dict[str, Any]:
    """Start the services and return the options of `st.App`: routes, middleware, error handlers, lifespan.

    Args:
        settings: Folders, address, limits.
        on_ready: Gets the address once the server answers.
    """
    services.start_services(settings)
    message_queue.install()

    @asynccontextmanager
    async def lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
        configure_logs(settings.monitoring)
        enlarge_thread_pool()
        _close_streams_on_signals()
        threading.Thread(target=_warm_up, args=(settings,), name="warm-up", daemon=True).start()
        on_ready(settings.hosting.link(settings.host, st.get_option("server.port")))
        try:
            yield {}
        finally:
            events.event_hub.close()
            await asyncio.to_thread(services.stop_services)

    return {
        "routes": routes.routes(settings.hosting.base_path),
        "middleware": middleware(settings.hosting, settings.host, settings.access),
        "exception_handlers": {UserError: routes.user_error},
        "lifespan": lifespan,
    }


def _warm_up(settings: Settings) -> None:
    """Load what the first page needs, then leave it to no later collection to look through."""
    for part in ("curves", "lab_view", "export", "settings", "inspector", "map_panel", "toolbar"):
        importlib.import_module(f"app.panels.{part}")
    services.services().studies.runner.resume_interrupted()
    for name in data.available_datasets(settings.data):
        if name in DATASETS and DATASETS[name].recipe is not None:
            continue  # made when somebody asks for it
        try:
            sprites.image_tiles(name, data.data_root(settings.data))
        except UserError:  # said on the page when somebody asks for it
            continue
    runs = services.services().runs
    for run in runs.list():  # its card says so where a file is damaged; the page should not wait
        run_damage(run, runs.damage_cache)
    freeze_garbage_collector()
    collect_garbage_less_often()


def _close_streams_on_signals() -> None:
    """Let a signal end the open event streams; the server waits for every answer before it goes."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        previous = signal.getsignal(number)

        def handle(received: int, stack: Any, previous: Any = previous) -> None:
            loop.call_soon_threadsafe(events.event_hub.close)
            if callable(previous):
                previous(received, stack)

        signal.signal(number, handle)


def _flatten(section: dict[str, Any], prefix: str = "") -> Any:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
