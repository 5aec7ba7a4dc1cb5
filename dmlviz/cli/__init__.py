"""Commands: one module each with its own `app`, so that a command imports only what it needs."""

from pathlib import Path
from typing import Annotated

import typer

RunsFolder = Annotated[
    Path | None,
    typer.Option("--runs", metavar="FOLDER", help="runs folder (default: DMLVIZ_RUNS, else the user's cache folder)"),
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="data folder (default: DMLVIZ_DATA, else the user's cache folder)"),
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="run ID (see `dmlviz runs`)")]


def limit_to_one_thread() -> None:
    """Compute on one thread, as the app's workers do, so that equal settings give equal numbers."""
    import faiss
    import torch

    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)


def single_command_app() -> typer.Typer:
    """Return a Typer app for one command."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False)
