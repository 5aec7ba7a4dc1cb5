"""The routes of a run's findings in its training data."""

import asyncio

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from dmlviz.cleaning.decisions import cleaning
from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz_app.clean import payloads, state
from dmlviz_app.clean.protocol import ReviewActions
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.headers import NO_STORE, JSONResponse, read_json_body

MAX_BODY = 1_000_000  # bytes
WHAT = "What is sent to the review sheet"
_DECISIONS = TypeAdapter(ReviewActions)
routes = Routes()


@routes.get(Rule.RUN_READER, "/runs/{run}/cleaning.json")
async def findings(request: Request) -> Response:
    """Return a run's findings in its training data, and the progress of the search."""
    answer = await asyncio.to_thread(payloads.findings, _run(request), personal(request))
    return JSONResponse(answer, headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/cleaning-{part:int}.png")
async def pictures(request: Request) -> Response:
    """Return the pictures of a part of the findings."""
    path = payloads.pictures(_run(request), personal(request), request.path_params["part"])
    if not path.is_file():
        raise UserError("The training data of this run have not been looked through yet.")
    return FileResponse(path, headers=NO_STORE, media_type="image/png")


@routes.post(Rule.RUN_READER, "/runs/{run}/cleaning/search")
async def search(request: Request) -> Response:
    """Start the search through the training data; return how it stands then. `work/ID` stops it."""
    run, services = _run(request), personal(request)
    await asyncio.to_thread(lambda: services.jobs.submit(cleaning(services.store, run)))
    return JSONResponse(await asyncio.to_thread(payloads.findings, run, services), headers=NO_STORE)


@routes.post(Rule.RUN_READER, "/runs/{run}/cleaning/decisions")
async def decide(request: Request) -> Response:
    """Keep decisions about training images, or take them back."""
    sent = await read_json_body(request, _DECISIONS, MAX_BODY, WHAT)
    await asyncio.to_thread(state.decide, sent["actions"], _run(request), personal(request))
    return JSONResponse({"ok": True}, headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/cleaning.csv")
async def table(request: Request) -> Response:
    """Return the findings in own vectors, with what was decided, as a file to download."""
    run = _run(request)
    content = await asyncio.to_thread(payloads.table, run, personal(request))
    headers = NO_STORE | {"Content-Disposition": f'attachment; filename="clean-{run.id}.csv"'}
    return Response(content, headers=headers, media_type="text/csv; charset=utf-8")


def _run(request: Request) -> Run:
    return personal(request).runs.get(request.path_params["run"])
