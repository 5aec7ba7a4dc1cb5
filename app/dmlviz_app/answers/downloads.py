"""Files to keep: exports of a run, and a whole run as one zip. Workers write them; they are streamed from disk."""

from contextlib import AsyncExitStack
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dmlviz.export import FORMATS
from dmlviz.export.look import KEYS
from dmlviz.runs.run import Run
from dmlviz_app.server.access import Rule, access, personal
from dmlviz_app.server.answers import AnswerFile
from dmlviz_app.server.headers import NO_STORE, UNCOMPRESSED


def routes() -> list[Route]:
    """Return the routes of a run's files."""
    return [
        Route("/runs/{run}/export/{format}", export),
        Route("/runs/{run}/run.zip", export_archive),
    ]


@access(Rule.RUN_READER)
async def export(request: Request) -> Response:
    """Return a file to keep; `?view=` is the ID of a projection, and `KEYS` are as in the page's address."""
    name, view = request.path_params["format"], request.query_params.get("view")
    run, format = personal(request).runs.get(request.path_params["run"]), FORMATS[name]
    if view is not None:
        run.projection(view)  # raises for one that is not there
    look = {key: request.query_params[key] for key in KEYS if key in request.query_params}
    headers = NO_STORE | UNCOMPRESSED
    return await _file(request, run, format.media_type, headers, "export", format=name, view=view, look=look)


@access(Rule.RUN_READER)
async def export_archive(request: Request) -> Response:
    """Return a run as one zip, to be imported elsewhere."""
    run = personal(request).runs.get(request.path_params["run"])
    return await _file(request, run, "application/zip", NO_STORE | UNCOMPRESSED, "archive")


async def _file(
    request: Request, run: Run, media_type: str, headers: dict[str, str], ask: str, **arguments: Any
) -> Response:
    services = personal(request)
    shown = {name: run.info[name] for name in ("title", "tags", "pinned") if name in run.info}  # as this person sees it
    order = services.answers.order(ask, run.id, run=str(run.path.resolve()), info=shown, **arguments)
    async with AsyncExitStack() as stack:
        record = await stack.enter_async_context(services.answers.open(request, services.person.id, order))
        return AnswerFile(record, stack.pop_all(), media_type, headers)
    raise AssertionError  # the block returns
