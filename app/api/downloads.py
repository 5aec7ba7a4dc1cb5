"""The routes of files that go out and come in: exports of a run, and a whole run as one zip."""

import asyncio
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from app.api.access import Rule, access, personal
from app.api.headers import NO_STORE, UNCOMPRESSED
from app.payloads import downloads, sprites
from dmlviz.errors import UserError
from dmlviz.export import FORMATS
from dmlviz.runs.archive import export_run
from dmlviz.runs.run import Run

MAX_IMPORT_BYTES = 400_000_000


def routes() -> list[Route]:
    """Export, and import by POST."""
    return [
        Route("/runs/import", import_archive, methods=["POST"]),
        Route("/runs/{run}/export/{format}", export),
        Route("/runs/{run}/run.zip", export_archive),
    ]


@access(Rule.RUN_READER)
async def export(request: Request) -> Response:
    """A file to keep; `?view=` is the id of a projection."""
    name, view = request.path_params["format"], request.query_params.get("view")
    run, format = personal(request).runs.get(request.path_params["run"]), FORMATS[name]
    drawing = None if view is None else run.drawing(view)
    load_images = partial(sprites.image_tiles, root=personal(request).data)
    path, filename = await asyncio.to_thread(
        downloads.create_download, name, run, drawing, load_images, personal(request).cache
    )
    return FileResponse(
        path,
        headers=NO_STORE | UNCOMPRESSED,
        media_type=format.media_type,
        filename=filename,
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


@access(Rule.RUN_READER)
async def export_archive(request: Request) -> Response:
    """A run as one zip, to be imported elsewhere."""
    run = personal(request).runs.get(request.path_params["run"])
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


@access(Rule.VISITOR)
async def import_archive(request: Request) -> Response:
    """A run as one zip, as the body; answers {"run", "title"} or {"error"}."""
    here = personal(request)
    await asyncio.to_thread(here.check_upload, int(request.headers.get("content-length") or 0))
    most = MAX_IMPORT_BYTES if here.person.alone else min(MAX_IMPORT_BYTES, here.person.limits.upload)
    with TemporaryFile(prefix="dmlviz-") as file:
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                limit = f"{most / 1e6:,.0f} MB"
                raise UserError(f"A run's file has at most {limit}; this one is larger: take a zip that Export wrote.")
            await asyncio.to_thread(file.write, part)
        run = await asyncio.to_thread(here.import_run, file)
    return JSONResponse({"run": run.id, "title": run.title}, headers=NO_STORE)
