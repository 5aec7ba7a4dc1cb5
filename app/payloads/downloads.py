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
    format: str, run: Run, drawing: ProjectionRun | None, find: Callable[[str], ImageTiles], cache: Path
) -> tuple[Path, str]:
    """A temporary file and the name that it is to have; whoever sends it removes it.

    `find` gives the pictures of a data set, or raises UserError where that is not here: then there are none.
    """
    sheets = None
    with contextlib.suppress(UserError):
        found = find(run.config.dataset)
        pngs = tuple(found.sheet(number, cache).read_bytes() for number in range(found.sheets))
        sheets = SpriteSheets(int(found.images.shape[1]), pngs)
    kept = RunExport(run, drawing, sheets)
    handle, name = tempfile.mkstemp(prefix="dmlviz-export-")
    try:
        with os.fdopen(handle, "wb") as file:
            write(format, kept, file)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name), kept.file_name(format)
