"""Files to keep: exports of a run, and a whole run as one zip; and their routes.

They are written into memory, large ones into a temporary file without a name, and sent.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO
from urllib.parse import quote

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dmlviz.data import sprite_sheet
from dmlviz.errors import UserError
from dmlviz.export import FORMATS, RunExport, SpriteSheets, write
from dmlviz.runs.archive import export_run
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.storage.disk_space import writing
from dmlviz_app.run_views import sprites
from dmlviz_app.run_views.sprites import ImageTiles
from dmlviz_app.server.access import Rule, access, personal
from dmlviz_app.server.headers import NO_STORE, UNCOMPRESSED

IN_MEMORY_BYTES = 32_000_000  # of one download
CHUNK = 1 << 20


def create_download(
    format: str, run: Run, projection: ProjectionRun | None, load_images: Callable[[str], ImageTiles], cache: Path
) -> tuple[IO[bytes], str]:
    """Write a download; on a full disk only one that fits into memory, or none of those that torch writes.

    Args:
        format: Name of the export format.
        run: The run.
        projection: The projection to export; None for the run's own view.
        load_images: Loads the test images of a data set by name; where it raises UserError, the export has none.
        cache: Folder of the sprite sheets.

    Returns:
        The file, at its beginning, and the name under which it is sent. The caller closes it.

    Raises:
        DiskFullError: If it does not fit into memory, and there is no room for a temporary file.
    """
    sheets = None
    with contextlib.suppress(UserError):
        tiles = load_images(run.config.dataset)
        pngs = tuple(tiles.sheet(number, cache) for number in range(tiles.sheets))
        sheets = SpriteSheets(sprite_sheet.tile_side(tiles.images), pngs)
    run_export = RunExport(run, projection, sheets)
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES, prefix="dmlviz-export-")  # noqa: SIM115  (the caller closes it)
    try:
        with writing(Path(tempfile.gettempdir())):
            if FORMATS[format].needs_torch:
                _write_in_process(format, run, file)
            else:
                write(format, run_export, file)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file, run_export.file_name(format)


def _write_in_process(format: str, run: Run, file: IO[bytes]) -> None:
    """Write a format by the command, so that this process does not load torch."""
    command = [sys.executable, "-P", "-m", "dmlviz", "export", run.id, "--format", format]
    done = subprocess.run([*command, "--runs", run.path.parent, "--out", "-"], stdout=file, stderr=subprocess.PIPE)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip()
        last = (words.splitlines() or ["no reason was given"])[-1]
        title = FORMATS[format].title
        raise UserError(words if done.returncode == 2 else f"{title} could not be written ({last}): try again.")


def routes() -> list[Route]:
    """Return the routes of a run's files."""
    return [
        Route("/runs/{run}/export/{format}", export),
        Route("/runs/{run}/run.zip", export_archive),
    ]


@access(Rule.RUN_READER)
async def export(request: Request) -> Response:
    """Return a file to keep; `?view=` is the ID of a projection."""
    name, view = request.path_params["format"], request.query_params.get("view")
    run, format = personal(request).runs.get(request.path_params["run"]), FORMATS[name]
    projection = None if view is None else run.projection(view)
    load_images = partial(sprites.image_tiles, root=personal(request).data)
    file, filename = await asyncio.to_thread(
        create_download, name, run, projection, load_images, personal(request).cache
    )
    return _attachment(file, filename, format.media_type, NO_STORE | UNCOMPRESSED)


@access(Rule.RUN_READER)
async def export_archive(request: Request) -> Response:
    """Return a run as one zip, to be imported elsewhere."""
    run = personal(request).runs.get(request.path_params["run"])
    file = await asyncio.to_thread(_write_archive, run)
    return _attachment(file, f"{run.title}.zip", "application/zip", NO_STORE)


def _write_archive(run: Run) -> IO[bytes]:
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES, prefix="dmlviz-")  # noqa: SIM115  (sent, then closed)
    try:
        with writing(Path(tempfile.gettempdir())):
            export_run(run, file)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _attachment(file: IO[bytes], name: str, media_type: str, headers: Mapping[str, str]) -> Response:
    """Send a file from its beginning, under a name, and close it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    text = quote(name, safe="")
    disposition = "attachment; " + (f'filename="{name}"' if text == name else f"filename*=utf-8''{text}")
    return StreamingResponse(
        iter(partial(file.read, CHUNK), b""),
        headers={**headers, "Content-Disposition": disposition, "Content-Length": str(size)},
        media_type=media_type,
        background=BackgroundTask(file.close),
    )
