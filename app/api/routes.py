"""The routes: frames, sprite sheets, labels, live events, files. Every id is checked."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from app.api import batches, losses
from app.payloads import downloads, sprites, thumbnails
from app.payloads.agreement import agreement_table
from app.payloads.nearest_neighbors import nearest_neighbor_bytes
from app.payloads.neighbor_history import neighbor_history
from app.payloads.per_query import per_query_bytes
from app.payloads.pixel_baseline import pixel_baseline
from app.payloads.point_values import point_values
from app.payloads.projection_info import projection_infos as about_methods
from app.payloads.protocol import ROUTES
from app.runtime.event_stream import StreamHub
from app.runtime.readiness import obstacles
from app.runtime.services import services
from dmlviz import __version__
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.export import FORMATS
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.run import LIVE, EventLogDir, Run
from dmlviz.storage.files import is_run_id

NEIGHBORS = 10  # in a neighbor history, as many as the inspector shows
IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}
PRIVATE_IMMUTABLE = {"Cache-Control": "private, max-age=31536000, immutable"}
NO_STORE = {"Cache-Control": "no-store"}
# A line of events may not wait in a proxy, and positions do not become smaller by compressing them again.
STREAM = NO_STORE | {"X-Accel-Buffering": "no"}
UNCOMPRESSED = {"Content-Encoding": "identity"}
MAX_IMPORT_BYTES = 400_000_000  # bytes of a file that comes in

event_hub = StreamHub()


def routes(base_path: str = "") -> list[Mount]:
    """Every route, below `base_path`. They answer GET, but for those that are sent a run or a question about a loss."""
    answered = [
        Route("/health", health),
        Route("/health/ready", readiness),
        Route("/runs/import", import_archive, methods=["POST"]),
        Route("/methods.json", methods),
        Route("/runs/{run}/events", run_events),
        Route("/runs/{run}/projections/{projection}/events", projection_events),
        Route("/runs/{run}/layout.json", tracked_items),
        Route("/runs/{run}/nearest.bin", nearest),
        *batches.routes(),
        *losses.routes(),
        Route("/runs/{run}/judged.bin", judged),
        Route("/runs/{run}/pixels.json", pixel_baseline_route),
        Route("/runs/{run}/neighbor-history/{item:int}.json", neighbor_history_route),
        Route("/runs/{run}/portrait-{theme}.png", portrait),
        Route("/runs/{run}/export/{format}", export),
        Route("/runs/{run}/run.zip", export_archive),
        Route("/runs/{run}/values/{view}/{measure}.f32", point_values_route),
        Route("/agreement/{a}/{b}.json", agreement),
        Route("/frames/{run}/{frame}.i16", frame),
        Route("/frames/{run}/{projection}/{frame}.i16", frame),
        Route("/data/{dataset}/{hash}/labels.u8", labels),
        Route("/data/{dataset}/{hash}/sprite-{sheet:int}.png", sheet),
        Route("/{rest:path}", not_found),
    ]
    return [Mount(f"{base_path}/{ROUTES}", routes=answered)]


def user_error(_request: Request, error: Exception) -> Response:
    """Say in one sentence what is not there (404), or what was there and is damaged (410)."""
    return JSONResponse({"error": str(error)}, 410 if isinstance(error, DamagedFileError) else 404, NO_STORE)


async def health(_request: Request) -> Response:
    """Whether the server answers, and its version."""
    return JSONResponse({"ok": True, "version": __version__}, headers=NO_STORE)


async def readiness(_request: Request) -> Response:
    """Whether a job can start (200), or what keeps it from that (503)."""
    reasons = await asyncio.to_thread(obstacles, services())
    return JSONResponse({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200, NO_STORE)


async def methods(_request: Request) -> Response:
    """Title and caution of every projection."""
    return JSONResponse(about_methods(), headers={"Cache-Control": "max-age=3600"})


async def not_found(request: Request) -> Response:
    """Refuse an address that no route has."""
    raise UserError(f"There is nothing at {request.url.path[:80]}.")


async def run_events(request: Request) -> Response:
    """The events of a run, old and new, as server-sent events."""
    run = request.path_params["run"]
    record = await asyncio.to_thread(_readable, run)

    def state() -> dict[str, Any]:
        status = services().jobs.status(run)
        return {"phase": status.phase, "position": status.position, "of": status.of}

    return _stream(request, record, state)


async def projection_events(request: Request) -> Response:
    """The events of a projection of a run, as `run_events`."""
    run, projection = request.path_params["run"], request.path_params["projection"]
    record = await asyncio.to_thread(_readable, run, projection)

    def state() -> dict[str, Any]:
        status = services().jobs.status(run, projection)
        return {"phase": status.phase, "position": status.position, "of": status.of}

    return _stream(request, record, state)


def _readable(run: str, projection: str | None = None) -> EventLogDir:
    """A run or projection whose log is whole; raise DamagedFileError otherwise, since pages believe every line."""
    record: EventLogDir = services().runs.get(run)
    if projection is not None:
        record = services().runs.get(run).drawing(projection)
    if not record.lock.locked:  # a log that is being written now was checked by its writer
        record.events()
    return record


def _stream(request: Request, record: EventLogDir, state: Callable[[], dict[str, Any]]) -> Response:
    given = request.headers.get("last-event-id") or request.query_params.get("after") or ""
    after = int(given) if re.fullmatch("[0-9]{1,9}", given) else -1
    return StreamingResponse(
        event_hub.follow(record.log.path, state, after), media_type="text/event-stream", headers=STREAM
    )


async def frame(request: Request) -> Response:
    """The positions of one frame: int16, quantized."""
    run, projection = request.path_params["run"], request.path_params.get("projection")
    record: EventLogDir = services().runs.get(run)
    if projection is not None:
        record = services().runs.get(run).drawing(projection)
    return Response(
        record.frame(request.path_params["frame"]),
        headers=IMMUTABLE | UNCOMPRESSED,
        media_type="application/octet-stream",
    )


async def tracked_items(request: Request) -> Response:
    """Labels, sprites and classes of the test images of a run, and which of them are tracked."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(sprites.image_tiles, run.config.dataset, services().data)
    tracked = run.tracked_indices
    described = found.describe() | {
        "run": run.id,
        "dataset": run.config.dataset,
        "classes": list(found.classes),
        "tracked": None if tracked is None else tracked.tolist(),
    }
    return JSONResponse(described, headers=NO_STORE)


async def nearest(request: Request) -> Response:
    """The nearest test image of each: n int32 indices, then n float32 distances; no content before the run's end."""
    run = services().runs.get(request.path_params["run"])
    if run.embeddings is None:  # begun again since the page asked
        return Response(status_code=204, headers=NO_STORE)
    found = await asyncio.to_thread(nearest_neighbor_bytes, run)
    return Response(found, headers=PRIVATE_IMMUTABLE | UNCOMPRESSED, media_type="application/octet-stream")


async def judged(request: Request) -> Response:
    """What each image contributes to the scores after `step` batches; without a step, at the end."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(per_query_bytes, run, _step(request))
    return Response(found, headers=PRIVATE_IMMUTABLE | UNCOMPRESSED, media_type="application/octet-stream")


async def pixel_baseline_route(request: Request) -> Response:
    """The scores of the tracked images without a net, pixel by pixel."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(sprites.image_tiles, run.config.dataset, services().data)
    folder = found.folder(cache())
    scores = await asyncio.to_thread(pixel_baseline, run, services().data, folder)
    return JSONResponse(scores, headers=PRIVATE_IMMUTABLE)


async def neighbor_history_route(request: Request) -> Response:
    """The neighbors of a test image at every snapshot; `metric` is euclidean or cosine."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(sprites.image_tiles, run.config.dataset, services().data)
    metric = request.query_params.get("metric", "euclidean")
    told = await asyncio.to_thread(
        neighbor_history, run, request.path_params["item"], NEIGHBORS, metric, found, services()
    )
    return JSONResponse(told, headers=NO_STORE)


def _step(request: Request) -> int | None:
    given = request.query_params.get("step")
    if given is not None and not re.fullmatch("[0-9]{1,9}", given):
        raise UserError(f"A step is a whole number; got {given[:40]!r}.")
    return None if given is None else int(given)


async def portrait(request: Request) -> Response:
    """A run's map as a small picture; its address has the stamp of what was drawn."""
    run, theme = services().runs.get(request.path_params["run"]), request.path_params["theme"]
    if theme not in thumbnails.PALETTE:
        raise UserError(f"There is no theme {theme[:40]!r}.")
    path = await asyncio.to_thread(thumbnails.thumbnail, run, theme, cache())
    return FileResponse(path, headers=PRIVATE_IMMUTABLE, media_type="image/png")


async def export(request: Request) -> Response:
    """A file to keep; `?view=` is the id of a projection."""
    name, view = request.path_params["format"], request.query_params.get("view")
    run, format = services().runs.get(request.path_params["run"]), FORMATS[name]
    drawing = None if view is None else run.drawing(view)
    find = partial(sprites.image_tiles, root=services().data)
    path, called = await asyncio.to_thread(downloads.create_download, name, run, drawing, find, cache())
    return FileResponse(
        path,
        headers=NO_STORE | UNCOMPRESSED,
        media_type=format.media_type,
        filename=called,
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


async def agreement(request: Request) -> Response:
    """Which test images two runs get right and wrong."""
    a, b = (services().runs.get(request.path_params[side]) for side in ("a", "b"))
    return JSONResponse(await asyncio.to_thread(agreement_table, a, b), headers=PRIVATE_IMMUTABLE)


async def export_archive(request: Request) -> Response:
    """A run as one file, to be taken in elsewhere."""
    run = services().runs.get(request.path_params["run"])
    file = await asyncio.to_thread(_packed, run)
    return FileResponse(
        file,
        headers=NO_STORE,
        media_type="application/zip",
        filename=f"{run.title}.zip",
        background=BackgroundTask(file.unlink),
    )


def _packed(run: Run) -> Path:
    with NamedTemporaryFile(prefix="dmlviz-", suffix=".zip", delete=False) as file:
        try:
            export_run(run, file)
        except BaseException:
            Path(file.name).unlink()
            raise
    return Path(file.name)


async def import_archive(request: Request) -> Response:
    """A run as one file, as the body; answers {"run", "title"} or {"error"}."""
    with TemporaryFile(prefix="dmlviz-") as file:
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > MAX_IMPORT_BYTES:
                most = f"{MAX_IMPORT_BYTES / 1e6:,.0f} MB"
                raise UserError(f"A run's file has at most {most}; this one is larger: take a zip that Export wrote.")
            await asyncio.to_thread(file.write, part)
        run = await asyncio.to_thread(import_run, file, services().runs)
    return JSONResponse({"run": run.id, "title": run.title}, headers=NO_STORE)


async def point_values_route(request: Request) -> Response:
    """A number for every test image to color the map by: n float32."""
    run, view = services().runs.get(request.path_params["run"]), request.path_params["view"]
    drawing = None if view == LIVE else run.drawing(view)
    found = await asyncio.to_thread(point_values, run, drawing, request.path_params["measure"])
    return Response(found, headers=PRIVATE_IMMUTABLE | UNCOMPRESSED, media_type="application/octet-stream")


async def labels(request: Request) -> Response:
    found = await asyncio.to_thread(_pictures, request)
    return Response(found.labels.tobytes(), headers=IMMUTABLE, media_type="application/octet-stream")


async def sheet(request: Request) -> Response:
    found = await asyncio.to_thread(_pictures, request)
    path = await asyncio.to_thread(found.sheet, request.path_params["sheet"], cache())
    return FileResponse(path, headers=IMMUTABLE, media_type="image/png")


def cache() -> Path:
    """The folder of sprite sheets and other files that can be made again."""
    return services().cache


def _pictures(request: Request) -> sprites.ImageTiles:
    dataset, wanted = request.path_params["dataset"], request.path_params["hash"]
    if dataset not in DATASETS or not is_run_id(wanted):
        raise UserError(f"There is no data set {dataset[:40]!r} of that hash.")
    found = sprites.image_tiles(dataset, services().data)
    if found.hash != wanted:
        raise UserError(f"{dataset} has changed on disk: reload the page.")
    return found
