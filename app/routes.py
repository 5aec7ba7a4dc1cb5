"""What is served beside the pages, under /api: frames, sheets of tiles, labels, live events. Ids are checked."""

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
from starlette.routing import Route

from app import downloads, pictures, portraits, seen
from app.agreement import agreement
from app.baselines import pixels_of
from app.cautions import methods as about_methods
from app.film import film_of
from app.judged import judged_of
from app.nearest import nearest_of
from app.services import services
from app.state import LIVE
from app.streaming import Tails
from app.values import values
from dmlviz import __version__
from dmlviz.archive import pack, unpack
from dmlviz.data.declared import DATASETS
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.export import FORMATS
from dmlviz.files import is_id
from dmlviz.record import Record, Run

NEIGHBOURS = 10  # of a film-strip, as many as the inspector shows
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
YEAR_OF_ONE_BROWSER = {"Cache-Control": "private, max-age=31536000, immutable"}
NEVER = {"Cache-Control": "no-store"}
# A line of events may not wait in a proxy, and positions do not become smaller by compressing them again.
STREAM = NEVER | {"X-Accel-Buffering": "no"}
UNCOMPRESSED = {"Content-Encoding": "identity"}
MOST_TAKEN_IN = 400_000_000  # bytes of a file that comes in

tails = Tails()


def routes() -> list[Route]:
    """Every route; all but the one that takes a run in only answer GET."""
    return [
        Route("/api/health", health),
        Route("/api/runs/import", take_in, methods=["POST"]),
        Route("/api/methods.json", methods),
        Route("/api/runs/{run}/events", run_events),
        Route("/api/runs/{run}/projections/{projection}/events", projection_events),
        Route("/api/runs/{run}/layout.json", layout),
        Route("/api/runs/{run}/nearest.bin", nearest),
        *seen.routes(),
        Route("/api/runs/{run}/judged.bin", judged),
        Route("/api/runs/{run}/pixels.json", pixels),
        Route("/api/runs/{run}/film/{item:int}.json", film),
        Route("/api/runs/{run}/portrait-{theme}.png", portrait),
        Route("/api/runs/{run}/export/{format}", export),
        Route("/api/runs/{run}/run.zip", whole),
        Route("/api/runs/{run}/values/{view}/{measure}.f32", numbers),
        Route("/api/agreement/{a}/{b}.json", agreed),
        Route("/api/frames/{run}/{frame}.i16", frame),
        Route("/api/frames/{run}/{projection}/{frame}.i16", frame),
        Route("/api/data/{dataset}/{hash}/labels.u8", labels),
        Route("/api/data/{dataset}/{hash}/sprite-{sheet:int}.png", sheet),
        Route("/api/{rest:path}", unknown),
    ]


def refuse(_request: Request, error: Exception) -> Response:
    """Say in one sentence what is not there (404), or what was there and is damaged (410)."""
    return JSONResponse({"error": str(error)}, 410 if isinstance(error, DamagedFileError) else 404, NEVER)


async def health(_request: Request) -> Response:
    return JSONResponse({"ok": True, "version": __version__}, headers=NEVER)


async def methods(_request: Request) -> Response:
    """Title and caution of every projection."""
    return JSONResponse(about_methods(), headers={"Cache-Control": "max-age=3600"})


async def unknown(request: Request) -> Response:
    raise UserError(f"There is nothing at {request.url.path[:80]}.")


async def run_events(request: Request) -> Response:
    run = request.path_params["run"]
    record = await asyncio.to_thread(_readable, run)

    def state() -> dict[str, Any]:
        status = services().jobs.status(run)
        return {"phase": status.phase, "position": status.position, "of": status.of}

    return _stream(request, record, state)


async def projection_events(request: Request) -> Response:
    run, projection = request.path_params["run"], request.path_params["projection"]
    record = await asyncio.to_thread(_readable, run, projection)

    def state() -> dict[str, Any]:
        status = services().jobs.status(run, projection)
        return {"phase": status.phase, "position": status.position, "of": status.of}

    return _stream(request, record, state)


def _readable(run: str, projection: str | None = None) -> Record:
    """A record whose log can be read to its end: lines are sent as they are, and a page believes them."""
    record: Record = services().runs.get(run)
    if projection is not None:
        record = services().runs.get(run).drawing(projection)
    if not record.lock.held:  # who writes it now has just made these lines
        record.events()
    return record


def _stream(request: Request, record: Record, state: Callable[[], dict[str, Any]]) -> Response:
    given = request.headers.get("last-event-id") or request.query_params.get("after") or ""
    after = int(given) if re.fullmatch("[0-9]{1,9}", given) else -1
    return StreamingResponse(
        tails.follow(record.log.path, state, after), media_type="text/event-stream", headers=STREAM
    )


async def frame(request: Request) -> Response:
    run, projection = request.path_params["run"], request.path_params.get("projection")
    record: Record = services().runs.get(run)
    if projection is not None:
        record = services().runs.get(run).drawing(projection)
    return Response(
        record.frame(request.path_params["frame"]),
        headers=FOREVER | UNCOMPRESSED,
        media_type="application/octet-stream",
    )


async def layout(request: Request) -> Response:
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(pictures.pictures, run.config.dataset, services().data)
    watched = run.watched
    described = found.describe() | {
        "run": run.id,
        "dataset": run.config.dataset,
        "classes": list(found.classes),
        "watched": None if watched is None else watched.tolist(),
    }
    return JSONResponse(described, headers=NEVER)


async def nearest(request: Request) -> Response:
    """The nearest test image of each: n int32 indices, then n float32 distances; no content before the run's end."""
    run = services().runs.get(request.path_params["run"])
    if run.embeddings is None:  # begun again since the page asked
        return Response(status_code=204, headers=NEVER)
    found = await asyncio.to_thread(nearest_of, run)
    return Response(found, headers=YEAR_OF_ONE_BROWSER | UNCOMPRESSED, media_type="application/octet-stream")


async def judged(request: Request) -> Response:
    """What each image contributes to the scores, after `step` batches or, without one, at the end."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(judged_of, run, _step(request))
    return Response(found, headers=YEAR_OF_ONE_BROWSER | UNCOMPRESSED, media_type="application/octet-stream")


async def pixels(request: Request) -> Response:
    """The scores of the watched images without a net, pixel by pixel."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(pictures.pictures, run.config.dataset, services().data)
    folder = found.folder(cache())
    scores = await asyncio.to_thread(pixels_of, run, services().data, folder)
    return JSONResponse(scores, headers=YEAR_OF_ONE_BROWSER)


async def film(request: Request) -> Response:
    """The neighbours of a test image at every snapshot; `metric` is euclidean or cosine."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(pictures.pictures, run.config.dataset, services().data)
    metric = request.query_params.get("metric", "euclidean")
    told = await asyncio.to_thread(film_of, run, request.path_params["item"], NEIGHBOURS, metric, found, services())
    return JSONResponse(told, headers=NEVER)


def _step(request: Request) -> int | None:
    given = request.query_params.get("step")
    if given is not None and not re.fullmatch("[0-9]{1,9}", given):
        raise UserError(f"A step is a whole number; got {given[:40]!r}.")
    return None if given is None else int(given)


async def portrait(request: Request) -> Response:
    """A run's map as a small picture; its address has the stamp of what was drawn."""
    run, theme = services().runs.get(request.path_params["run"]), request.path_params["theme"]
    if theme not in portraits.PALETTE:
        raise UserError(f"There is no theme {theme[:40]!r}.")
    path = await asyncio.to_thread(portraits.portrait, run, theme, cache())
    return FileResponse(path, headers=YEAR_OF_ONE_BROWSER, media_type="image/png")


async def export(request: Request) -> Response:
    """A file to keep; `?view=` is the id of a projection."""
    name, view = request.path_params["format"], request.query_params.get("view")
    run, format = services().runs.get(request.path_params["run"]), FORMATS[name]
    drawing = None if view is None else run.drawing(view)
    find = partial(pictures.pictures, root=services().data)
    path, called = await asyncio.to_thread(downloads.make, name, run, drawing, find, cache())
    return FileResponse(
        path,
        headers=NEVER | UNCOMPRESSED,
        media_type=format.media_type,
        filename=called,
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


async def agreed(request: Request) -> Response:
    """Which test images two runs get right and wrong."""
    a, b = (services().runs.get(request.path_params[side]) for side in ("a", "b"))
    return JSONResponse(await asyncio.to_thread(agreement, a, b), headers=YEAR_OF_ONE_BROWSER)


async def whole(request: Request) -> Response:
    """A run as one file, to be taken in elsewhere."""
    run = services().runs.get(request.path_params["run"])
    file = await asyncio.to_thread(_packed, run)
    return FileResponse(
        file,
        headers=NEVER,
        media_type="application/zip",
        filename=f"{run.title}.zip",
        background=BackgroundTask(file.unlink),
    )


def _packed(run: Run) -> Path:
    with NamedTemporaryFile(prefix="dmlviz-", suffix=".zip", delete=False) as file:
        try:
            pack(run, file)
        except BaseException:
            Path(file.name).unlink()
            raise
    return Path(file.name)


async def take_in(request: Request) -> Response:
    """A run as one file, as the body; answers {"run", "title"} or {"error"}."""
    with TemporaryFile(prefix="dmlviz-") as file:
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > MOST_TAKEN_IN:
                most = f"{MOST_TAKEN_IN / 1e6:,.0f} MB"
                raise UserError(f"A run's file has at most {most}; this one is larger: take a zip that Export wrote.")
            await asyncio.to_thread(file.write, part)
        run = await asyncio.to_thread(unpack, file, services().runs)
    return JSONResponse({"run": run.id, "title": run.title}, headers=NEVER)


async def numbers(request: Request) -> Response:
    """A number for every test image to colour the map by: n float32."""
    run, view = services().runs.get(request.path_params["run"]), request.path_params["view"]
    drawing = None if view == LIVE else run.drawing(view)
    found = await asyncio.to_thread(values, run, drawing, request.path_params["measure"])
    return Response(found, headers=YEAR_OF_ONE_BROWSER | UNCOMPRESSED, media_type="application/octet-stream")


async def labels(request: Request) -> Response:
    found = await asyncio.to_thread(_pictures, request)
    return Response(found.labels.tobytes(), headers=FOREVER, media_type="application/octet-stream")


async def sheet(request: Request) -> Response:
    found = await asyncio.to_thread(_pictures, request)
    path = await asyncio.to_thread(found.sheet, request.path_params["sheet"], cache())
    return FileResponse(path, headers=FOREVER, media_type="image/png")


def cache() -> Path:
    """Where sheets of tiles are kept."""
    return services().cache


def _pictures(request: Request) -> pictures.Pictures:
    dataset, wanted = request.path_params["dataset"], request.path_params["hash"]
    if dataset not in DATASETS or not is_id(wanted):
        raise UserError(f"There is no data set {dataset[:40]!r} of that hash.")
    found = pictures.pictures(dataset, services().data)
    if found.hash != wanted:
        raise UserError(f"{dataset} has changed on disk: reload the page.")
    return found
