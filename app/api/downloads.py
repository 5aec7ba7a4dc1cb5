"""The routes of files that go out and come in: exports of a run, and a whole run as one zip."""

import asyncio
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from app.api.headers import NO_STORE, UNCOMPRESSED
from app.payloads import downloads, sprites
from app.runtime.services import services
from dmlviz.errors import UserError
from dmlviz.export import FORMATS
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.run import Run

MAX_IMPORT_BYTES = 400_000_000


def routes() -> list[Route]:
    """Export, and import by POST."""
    return [
        Route("/api/runs/import", import_archive, methods=["POST"]),
        Route("/api/runs/{run}/export/{format}", export),
        Route("/api/runs/{run}/run.zip", export_archive),
    ]


async def export(request: Request) -> Response:
    """A file to keep; `?view=` is the id of a projection."""
    name, view = request.path_params["format"], request.query_params.get("view")
    run, format = services().runs.get(request.path_params["run"]), FORMATS[name]
    drawing = None if view is None else run.drawing(view)
    load_images = partial(sprites.image_tiles, root=services().data)
    path, filename = await asyncio.to_thread(
        downloads.create_download, name, run, drawing, load_images, services().cache
    )
    return FileResponse(
        path,
        headers=NO_STORE | UNCOMPRESSED,
        media_type=format.media_type,
        filename=filename,
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


async def export_archive(request: Request) -> Response:
    """A run as one zip, to be imported elsewhere."""
    run = services().runs.get(request.path_params["run"])
    path = await asyncio.to_thread(_write_archive, run)
    return FileResponse(
        path,
        headers=NO_STORE,
        media_type="application/zip",
        filename=f"{run.title}.zip",
        background=BackgroundTask(path.unlink),
    )


def _write_archive(run: Run) -> Path:
    with NamedTemporaryFile(prefix="dmlviz-", suffix=".zip", delete=False) as file:
        try:
            export_run(run, file)
        except BaseException:
            Path(file.name).unlink()
            raise
    return Path(file.name)


async def import_archive(request: Request) -> Response:
    """A run as one zip, as the body; answers {"run", "title"} or {"error"}."""
    with TemporaryFile(prefix="dmlviz-") as file:
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > MAX_IMPORT_BYTES:
                limit = f"{MAX_IMPORT_BYTES / 1e6:,.0f} MB"
                raise UserError(f"A run's file has at most {limit}; this one is larger: take a zip that Export wrote.")
            await asyncio.to_thread(file.write, part)
        run = await asyncio.to_thread(import_run, file, services().runs)
    return JSONResponse({"run": run.id, "title": run.title}, headers=NO_STORE)
