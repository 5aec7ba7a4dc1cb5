"""One command a module, each with its own `app`, so that a command loads only what it needs."""

from pathlib import Path
from typing import Annotated

import typer

RunsFolder = Annotated[
    Path | None,
    typer.Option("--runs", metavar="FOLDER", help="where runs are kept (DMLVIZ_RUNS, else the user's cache folder)"),
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="where data sets lie (DMLVIZ_DATA, else the user's cache folder)"),
]


def single_command_app() -> typer.Typer:
    """A Typer for one command."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False)
