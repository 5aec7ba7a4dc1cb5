"""Exports a run as a page, table, weights, figures or script. Imports no torch."""

from importlib import import_module
from pathlib import Path
from typing import IO

from dmlviz.catalog.export_formats import FORMATS
from dmlviz.export.contents import RunExport, SpriteSheets
from dmlviz.storage.files import atomic_write

__all__ = ["FORMATS", "RunExport", "SpriteSheets", "save", "write"]

_MODULES = {
    "python": "script",
    "command": "script",
    "html": "page",
    "csv": "tables",
    "parquet": "tables",
    "projector": "tables",
    "faiss": "tables",
    "figures": "figures",
    "weights": "weights",
    "onnx": "onnx_file",
}


def write(format: str, contents: RunExport, file: IO[bytes]) -> None:
    """Write a run in a format.

    Args:
        format: A name in FORMATS.
        contents: The run.
        file: A binary file.

    Raises:
        UserError: For an unknown format, or if the run is not finished.
    """
    _ = FORMATS[format]
    getattr(import_module(f"dmlviz.export.{_MODULES[format]}"), f"write_{format}")(contents, file)


def save(format: str, contents: RunExport, path: Path | None = None) -> Path:
    """Write a run to `path`, by default a file named after the run in this folder; return the path."""
    path = path or Path(contents.file_name(format))
    with atomic_write(path) as file:
        write(format, contents, file)
    return path
