"""Commands: one module each with its own `app`, so that a command imports only what it needs."""

import json
import math
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

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
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="write the results here; -: print them in place of the tables"),
]


def complete_run(context: typer.Context) -> list[tuple[str, str]]:
    """Return the IDs and titles of all runs, for a shell's completion."""
    from dmlviz.runs.store import Runs, runs_folder

    return [(run.id, run.title) for run in Runs(runs_folder(context.params.get("runs"))).list()]


RUN: Any = typer.Argument(
    metavar="RUN", help="ID or title of a run (see `dmlviz runs`), or latest", autocompletion=complete_run
)
RunId = Annotated[str, RUN]
NUM_PROGRESS_LINES = 10  # of long work whose output is not a terminal


def single_command_app() -> typer.Typer:
    """Return a Typer app for one command."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def console_beside(json_file: Path | None, **options: Any) -> Console:
    """Return the console for a command's tables, which prints nothing where standard output takes the JSON."""
    return Console(highlight=False, quiet=json_file == _STDOUT, **options)


def write_results(json_file: Path | None, results: Any) -> None:
    """Write a command's results as `--json` asks; nothing without it. Numbers that are not finite are null."""
    if json_file is None:
        return
    text = json.dumps(_finite(results), indent=1, ensure_ascii=False)
    if json_file == _STDOUT:
        print(text)
        return
    from dmlviz.storage.files import atomic_write  # a heavy import, which no `--help` needs

    with atomic_write(json_file) as file:
        file.write(text.encode())


_STDOUT = Path("-")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
