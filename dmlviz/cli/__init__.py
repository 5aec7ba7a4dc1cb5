"""Commands: one module each with its own `app`, so that a command imports only what it needs."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

RunsFolder = Annotated[
    Path | None,
    typer.Option("--runs", metavar="FOLDER", help="runs folder (default: DMLVIZ_RUNS, else the user's data folder)"),
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="data folder (default: DMLVIZ_DATA, else the user's data folder)"),
]
CertificatesFolder = Annotated[
    Path | None,
    typer.Option(
        "--certificates",
        metavar="FOLDER",
        help="folder of the fleet's certificates (default: DMLVIZ_CERTIFICATES, else in the user's settings)",
    ),
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="ID or title of a run (see `dmlviz runs`), or latest")]
NUM_PROGRESS_LINES = 10  # of long work whose output is not a terminal


def single_command_app() -> typer.Typer:
    """Return a Typer app for one command."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@contextmanager
def stop_on_interrupt(on_interrupt: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after Ctrl-C; a second Ctrl-C raises KeyboardInterrupt.

    Args:
        on_interrupt: Called once, at the first Ctrl-C.
    """
    is_interrupted = False

    def handle(_number: int, _frame: Any) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        on_interrupt()

    previous_handler = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: is_interrupted
    finally:
        signal.signal(signal.SIGINT, previous_handler)
