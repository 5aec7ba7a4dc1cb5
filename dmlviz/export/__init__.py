"""Keeps a run outside the program: as a script, a table, a page of its own, for other tools. Loads no torch."""

from importlib import import_module
from pathlib import Path
from typing import IO

from dmlviz.export.declared import FORMATS
from dmlviz.export.kept import Kept, Sheets
from dmlviz.files import atomic

__all__ = ["FORMATS", "Kept", "Sheets", "save", "write"]

_HOMES = {
    "python": "script",
    "command": "script",
    "html": "page",
    "csv": "tables",
    "parquet": "tables",
    "projector": "projector",
    "figures": "figures",
    "weights": "weights",
}


def write(format: str, kept: Kept, file: IO[bytes]) -> None:
    """Write what is kept of a run; raise UserError for an unknown format, and for a run that has not got that far."""
    _ = FORMATS[format]
    getattr(import_module(f"dmlviz.export.{_HOMES[format]}"), f"write_{format}")(kept, file)


def save(format: str, kept: Kept, path: Path | None = None) -> Path:
    """As `write`, into a file, by default one in this folder that is named after the run; returns where it is."""
    path = path or Path(kept.file_name(format))
    with atomic(path) as file:
        write(format, kept, file)
    return path
