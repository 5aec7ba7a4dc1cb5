"""The server: Streamlit's pages and the routes beside them, in one process that never loads torch."""

import asyncio
import importlib
import json
import signal
import threading
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.process_setup import collect_garbage_less_often, freeze_garbage_collector, raise_open_files
from dmlviz.runs.damage import run_damage
from dmlviz_app import routes
from dmlviz_app.answers import sprites
from dmlviz_app.feature import pages
from dmlviz_app.server import services
from dmlviz_app.server.event_stream import event_hub
from dmlviz_app.server.logs import configure_logs
from dmlviz_app.server.middleware import middleware
from dmlviz_app.server.settings import Settings
from dmlviz_app.server.threads import enlarge_thread_pool

_locks: dict[int, Any] = {}  # by the address of a state; that of one which is gone may serve the next


def share_session_lock() -> None:
    """Give all wrappers of one session's state the same lock; nothing the second time."""
    own_lock = SafeSessionState.__init__
    if hasattr(own_lock, "__wrapped__"):
        return

    @wraps(own_lock)
    def with_one_lock(self: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]) -> None:
        own_lock(self, state, yield_callback)
        object.__setattr__(self, "_lock", _locks.setdefault(id(state), threading.RLock()))

    SafeSessionState.__init__ = with_one_lock  # type: ignore[method-assign]


def finish_scripts_of_left_pages() -> None:
    """Let the script of a page that is left come to its end: Streamlit stops it, and discards the last click."""
    AppSession.request_script_stop = lambda self: None  # type: ignore[method-assign]


__all__ = ["PAGE", "Settings", "app_options", "build_app", "options", "serve"]

APP_DIR = Path(__file__).resolve().parent
PAGE = APP_DIR / "page.py"
# Beside app/main.py, where `streamlit run` reads it; the wheel holds it in the package.
CONFIGS = [folder / ".streamlit" / "config.toml" for folder in (APP_DIR, APP_DIR.parent)]


def serve(settings: Settings, on_ready: Callable[[str], object] = lambda address: None) -> None:
    """Serve until Ctrl-C or SIGTERM; `on_ready` gets the address once it answers. Port 0 takes a free one."""
    build_app(settings, on_ready).run(config=options(settings))


def options(settings: Settings) -> dict[str, Any]:
    """Return Streamlit's options, as `section.name`: those of its configuration file, and the address."""
    with open(next(filter(Path.exists, CONFIGS)), "rb") as file:
        settings_by_name = dict(_flatten(tomllib.load(file)))
    settings_by_name |= {
        "server.address": settings.host,
        "server.port": settings.port,
        "server.baseUrlPath": settings.base_path.strip("/"),
    }
    name = "server.trustedUserHeaders"  # as text, which only a file may hold
    settings_by_name[name] = {} if settings.access.alone else json.loads(settings_by_name[name])
    return settings_by_name


def build_app(settings: Settings, on_ready: Callable[[str], object] = lambda address: None) -> st.App:
    """Return the ASGI app: pages, routes of dmlviz, the cookie that identifies a browser."""
    return st.App(PAGE, **app_options(settings, on_ready))


def app_options(settings: Settings, on_ready: Callable[[str], object] = lambda address: None) -> dict[str, Any]:
    """Start the services and return the options of `st.App`; `on_ready` gets the address once the server answers."""
    raise_open_files()
    share_session_lock()
    finish_scripts_of_left_pages()
    started = services.start_services(settings)

    @asynccontextmanager
    async def lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
        configure_logs(settings.log_format, settings.log_level)
        enlarge_thread_pool()
        _close_streams_on_signals()
        closing = threading.Event()
        warm_up = threading.Thread(target=_warm_up, args=(started, closing), name="warm-up", daemon=True)
        warm_up.start()
        on_ready(settings.link(st.get_option("server.port")))
        try:
            yield {}
        finally:
            event_hub.close()
            closing.set()
            await asyncio.to_thread(services.stop_services)
            # A thread that imports compiled code while Python ends aborts the process ("exception not rethrown").
            await asyncio.to_thread(warm_up.join)

    return {
        "routes": routes.routes(settings.base_path),
        "middleware": middleware(settings, settings.access),
        "exception_handlers": routes.EXCEPTION_HANDLERS,
        "lifespan": lifespan,
    }


def _warm_up(started: services.Services, closing: threading.Event) -> None:
    """Load what the first page needs, then leave it to no later collection to look through; end early when closing."""
    for _ in _warm_up_steps(started):
        if closing.is_set():
            return
    freeze_garbage_collector()
    collect_garbage_less_often()


def _warm_up_steps(started: services.Services) -> Iterator[None]:
    for page in pages().values():
        for module in page.slow_imports:
            importlib.import_module(module)
            yield
    started.study_runner.resume_interrupted()
    for name in data.available_datasets(started.data):
        if name in DATASETS and DATASETS[name].recipe is not None:
            continue  # made on the first request
        try:
            sprites.image_tiles(name, started.data)
        except UserError:  # reported on the page that requests it
            continue
        yield
    for run in started.runs.list():  # its card says so where a file is damaged; the page should not wait
        run_damage(run)
        yield


def _close_streams_on_signals() -> None:
    """Let a signal end the open event streams; the server waits for every answer before it goes."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        previous = signal.getsignal(number)

        def handle(signal_number: int, stack: Any, previous: Any = previous) -> None:
            loop.call_soon_threadsafe(event_hub.close)
            if callable(previous):
                previous(signal_number, stack)

        signal.signal(number, handle)


def _flatten(section: dict[str, Any], prefix: str = "") -> Any:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
