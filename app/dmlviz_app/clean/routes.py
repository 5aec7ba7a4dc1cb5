"""The routes of a run's findings in its training data."""

import asyncio

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz_app.clean import payloads
from dmlviz_app.server.access import Rule, access, personal
from dmlviz_app.server.headers import NO_STORE
from dmlviz_app.server.json_response import JSONResponse


def routes() -> list[Route]:
    """Return the routes of findings and their pictures."""
    return [
        Route("/runs/{run}/cleaning.json", findings),
        Route("/runs/{run}/cleaning-{part:int}.png", pictures),
    ]


@access(Rule.RUN_READER)
async def findings(request: Request) -> Response:
    """Return a run's findings in its training data, and the progress of the search."""
    answer = await asyncio.to_thread(payloads.findings, _run(request), personal(request))
    return JSONResponse(answer, headers=NO_STORE)


@access(Rule.RUN_READER)
async def pictures(request: Request) -> Response:
    """Return the pictures of a part of the findings."""
    path = payloads.pictures(_run(request), personal(request), request.path_params["part"])
    if not path.is_file():
        raise UserError("The training data of this run have not been looked through yet.")
    return FileResponse(path, headers=NO_STORE, media_type="image/png")


def _run(request: Request) -> Run:
    return personal(request).runs.get(request.path_params["run"])
