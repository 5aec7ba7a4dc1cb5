"""Downloads of a run: written to a temporary file on request, sent, removed."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from app.payloads.sprites import ImageTiles
from dmlviz.errors import UserError
from dmlviz.export import RunExport, SpriteSheets, write
from dmlviz.runs.run import ProjectionRun, Run


def create_download(
    format: str, run: Run, drawing: ProjectionRun | None, load_images: Callable[[str], ImageTiles], cache: Path
) -> tuple[Path, str]:
    """Write a temporary file, which the caller removes.

    Args:
        format: Name of the export format.
        run: The run.
        drawing: The projection to export; None for the run's own view.
        load_images: Loads the test images of a data set by name; where it raises UserError, the export has none.
        cache: Folder of the sprite sheets.

    Returns:
        The file, and the name under which it is sent.
    """
    sheets = None
    with contextlib.suppress(UserError):
        tiles = load_images(run.config.dataset)
        pngs = tuple(tiles.sheet(number, cache).read_bytes() for number in range(tiles.sheets))
        sheets = SpriteSheets(int(tiles.images.shape[1]), pngs)
    run_export = RunExport(run, drawing, sheets)
    handle, name = tempfile.mkstemp(prefix="dmlviz-export-")
    try:
        with os.fdopen(handle, "wb") as file:
            write(format, run_export, file)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name), run_export.file_name(format)
