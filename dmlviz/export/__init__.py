"""Exports a run as a page, table, weights, figures or script. Imports no torch."""

from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dmlviz.catalog.export_formats import FORMATS
from dmlviz.export.contents import RunExport, SpriteSheets
from dmlviz.storage.files import atomic_write

if TYPE_CHECKING:
    from dmlviz.export.program.training import training_program

__all__ = ["FORMATS", "RunExport", "SpriteSheets", "save", "training_program", "write"]

_MODULES = {
    "python": "script",
    "command": "script",
    "html": "page",
    "csv": "tables",
    "parquet": "tables",
    "projector": "tables",
    "faiss": "tables",
    "film": "film",
    "gif": "film",
    "figures": "figures",
    "svg": "drawing",
    "pdf": "drawing",
    "png": "drawing",
    "weights": "weights",
    "onnx": "onnx_file",
    "thresholds": "weights",
    "report": "report",
}


def write(format: str, contents: RunExport, file: IO[bytes]) -> None:
    """Write a run in a format.

    Args:
        format: A name in FORMATS.
        contents: The run.
        file: A binary file.

    Raises:
        UserError: For an unknown format, or if the run is not finished.

    Examples:
        >>> import io
        >>> from dmlviz.runs import Runs
        >>> file = io.BytesIO()
        >>> write("csv", RunExport(Runs().find("Digits in the plane, triplets")), file)
        >>> file.getvalue()[:26]
        b'"item","label","class","x"'
    """
    _ = FORMATS[format]
    getattr(import_module(f"dmlviz.export.{_MODULES[format]}"), f"write_{format}")(contents, file)


def save(format: str, contents: RunExport, path: Path | None = None) -> Path:
    """Write a run into a file.

    Args:
        format: A name in FORMATS.
        contents: The run, as `RunExport.from_run` gives it.
        path: The file; by default one named after the run, in this folder.

    Returns:
        Its path.

    Raises:
        UserError: If this run cannot be written in the format, with the reason.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from dmlviz.runs import Runs
        >>> run = Runs().find("Digits in the plane, triplets")
        >>> with TemporaryDirectory() as folder:
        ...     print(save("csv", RunExport(run), Path(folder, "map.csv")).name)
        map.csv
    """
    path = path or Path(contents.file_name(format))
    with atomic_write(path) as file:
        write(format, contents, file)
    return path


def __getattr__(name: str) -> Any:
    if name != "training_program":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.program.training").training_program  # it loads torch
