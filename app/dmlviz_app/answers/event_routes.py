"""The routes of a run's event stream, and of the frames that its events name."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from functools import partial
from itertools import zip_longest

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dmlviz.errors import UserError
from dmlviz.jobs.job import Status
from dmlviz.runs.projection_run import projected_items
from dmlviz.runs.run import EventLogDir
from dmlviz_app.server.access import Routes, Rule, personal, while_visible
from dmlviz_app.server.event_stream import event_hub
from dmlviz_app.server.headers import NO_STORE, PRIVATE_IMMUTABLE, STREAM, UNCOMPRESSED, JSONResponse
from dmlviz_app.server.metrics import FIRST_FRAMES
from dmlviz_app.server.services import Services

MOST_LOGS = 12  # at once: six runs, and a projection of each
routes = Routes()


@routes.get(Rule.RUN_READER, "/runs/{run}/events")
async def run_events(request: Request) -> Response:
    """Stream the events of a run, old and new, as server-sent events."""
    run = request.path_params["run"]
    record = await asyncio.to_thread(_checked_record, personal(request), run)
    scheduler = personal(request).scheduler
    return _stream(request, record, lambda: scheduler.status(record))


@routes.get(Rule.RUN_READER, "/runs/{run}/projections/{projection}/events")
async def projection_events(request: Request) -> Response:
    """Stream the events of a projection of a run, as `run_events`."""
    run, projection = request.path_params["run"], request.path_params["projection"]
    record = await asyncio.to_thread(_checked_record, personal(request), run, projection)
    scheduler = personal(request).scheduler
    return _stream(request, record, lambda: scheduler.status(record))


@routes.get(Rule.VISITOR, "/events")
async def events_of_many(request: Request) -> Response:
    """Stream the events of some runs and projections at once; the name of a message's event is the number of its log.

    A browser gives a host six connections, and six runs may train at a time.
    """
    services, asked = personal(request), request.query_params
    if not 0 < len(names := asked.getlist("of")) <= MOST_LOGS:
        raise UserError(f"Events of 1 to {MOST_LOGS} logs come at once; got {len(names)}: ask for fewer.")
    streams = []
    for name, after in zip_longest(names, asked.getlist("after")[: len(names)], fillvalue=""):
        run, _, projection = name.partition("/")
        record = await asyncio.to_thread(_checked_record, services, run, projection or None)
        streams.append(_blocks(services, record, run, partial(services.scheduler.status, record), after))
    return StreamingResponse(_together(streams), media_type="text/event-stream", headers=STREAM)


async def _together(streams: Sequence[AsyncIterator[str]]) -> AsyncGenerator[str]:
    """Yield the blocks of some event streams as they come; each message says of which it is."""
    blocks: asyncio.Queue[str | None] = asyncio.Queue()

    async def pump(number: int, stream: AsyncIterator[str]) -> None:
        try:
            async for block in stream:
                messages = (f"event: {number}\n{message}\n\n" for message in block.split("\n\n") if message)
                blocks.put_nowait("".join(messages))
        finally:
            blocks.put_nowait(None)

    tasks = [asyncio.create_task(pump(number, stream)) for number, stream in enumerate(streams)]
    try:
        open_streams = len(tasks)
        while open_streams:
            if (block := await blocks.get()) is None:
                open_streams -= 1
            else:
                yield block
    finally:
        for task in tasks:
            task.cancel()


@routes.get(Rule.RUN_READER, "/runs/{run}/projections/{projection}/items.json")
async def projection_items(request: Request) -> Response:
    """Return the test images on the map of a projection, as a list of their numbers."""
    run = personal(request).runs.get(request.path_params["run"])
    config = run.projection(request.path_params["projection"]).config
    items = await asyncio.to_thread(projected_items, run, config)
    return JSONResponse(items.tolist(), headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/frames/{run}/{frame}.i16", "/frames/{run}/{projection}/{frame}.i16")
async def frame(request: Request) -> Response:
    """Return the positions of one frame: int16, quantized."""
    run, projection = request.path_params["run"], request.path_params.get("projection")
    positions = _record(personal(request), run, projection).frame(request.path_params["frame"])
    if projection is None:
        FIRST_FRAMES.on_frame(run)
    return Response(positions, headers=PRIVATE_IMMUTABLE | UNCOMPRESSED, media_type="application/octet-stream")


def _record(services: Services, run: str, projection: str | None) -> EventLogDir:
    record = services.runs.get(run)
    return record if projection is None else record.projection(projection)


def _checked_record(services: Services, run: str, projection: str | None = None) -> EventLogDir:
    """Return a run or projection whose log is whole; raise DamagedFileError otherwise: pages trust every line."""
    record = _record(services, run, projection)
    if not record.lock.locked:  # a log that is being written now was checked by its writer
        record.events()
    return record


def _stream(request: Request, record: EventLogDir, state: Callable[[], Status]) -> Response:
    after = request.headers.get("last-event-id") or request.query_params.get("after") or ""
    blocks = _blocks(personal(request), record, request.path_params["run"], state, after)
    return StreamingResponse(blocks, media_type="text/event-stream", headers=STREAM)


def _blocks(
    services: Services, record: EventLogDir, run: str, state: Callable[[], Status], after: str
) -> AsyncIterator[str]:
    """Follow a log from the line behind `after`, for as long as this person sees its run."""
    line = int(after) if re.fullmatch("[0-9]{1,9}", after) else -1
    return while_visible(event_hub.follow(record.log.path, state, line), services, run)
