"""Downloads of a run: written to a temporary file on request, sent, removed."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from app.payloads.sprites import ImageTiles
from dmlviz.data import sprite_sheet
from dmlviz.errors import UserError
from dmlviz.export import FORMATS, RunExport, SpriteSheets, write
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
        sheets = SpriteSheets(sprite_sheet.tile_side(tiles.images), pngs)
    run_export = RunExport(run, drawing, sheets)
    handle, name = tempfile.mkstemp(prefix="dmlviz-export-")
    try:
        with os.fdopen(handle, "wb") as file:
            if FORMATS[format].needs_torch:
                _write_in_process(format, run, file)
            else:
                write(format, run_export, file)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name), run_export.file_name(format)


def _write_in_process(format: str, run: Run, file: IO[bytes]) -> None:
    """Write a format by the command, so that this process does not load torch."""
    command = [sys.executable, "-P", "-m", "dmlviz", "export", run.id, "--format", format]
    done = subprocess.run([*command, "--runs", run.path.parent, "--out", "-"], stdout=file, stderr=subprocess.PIPE)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip()
        last = (words.splitlines() or ["no reason was given"])[-1]
        title = FORMATS[format].title
        raise UserError(words if done.returncode == 2 else f"{title} could not be written ({last}): try again.")
