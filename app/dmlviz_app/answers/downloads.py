"""Files to keep: exports of a run, a whole run as one zip, a page that trains. Workers write them."""

import asyncio
import html
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from dmlviz.errors import BusyError, UserError
from dmlviz.export import FORMATS
from dmlviz.export.look import KEYS
from dmlviz.export.page import BUILT
from dmlviz.export.site_builder import site_page
from dmlviz.runs.run import Run
from dmlviz.version import __version__
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.answers import AnswerFile
from dmlviz_app.server.headers import NO_STORE, UNCOMPRESSED
from dmlviz_app.server.services import TRAINING_PAGES

routes = Routes()


@routes.get(Rule.RUN_READER, "/runs/{run}/export/{format}")
async def export(request: Request) -> Response:
    """Return a file to keep; `?view=` is the ID of a projection, and `KEYS` are as in the page's address."""
    name, view = request.path_params["format"], request.query_params.get("view")
    run, format = personal(request).runs.get(request.path_params["run"]), FORMATS[name]
    if view is not None:
        run.projection(view)  # raises for one that is not there
    look = {key: request.query_params[key] for key in KEYS if key in request.query_params}
    asked = {"format": name, "view": view, "look": look, "holders": personal(request).runs.gallery_holders(run.id)}
    return await _file(request, run, format.media_type, NO_STORE | UNCOMPRESSED, "export", **asked)


@routes.get(Rule.RUN_READER, "/runs/{run}/run.zip")
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


SCRIPTS = {"playground.js": "playground.js", "playground_worker.js": "playground_worker.js"}
SCRIPTS["style.css"] = "standalone.css"
# What the page needs beside what all pages may do: code in WebAssembly, which no other page has.
POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'; frame-ancestors 'self'"
)


@routes.get(Rule.RUN_READER, "/runs/{run}/training/{file}")
async def training_file(request: Request) -> Response:
    """Return a file of the page, which a worker writes when it is first asked for."""
    services, name = personal(request), request.path_params["file"]
    run = services.runs.get(request.path_params["run"])
    headers = NO_STORE | {"Content-Security-Policy": POLICY}
    folder = services.cache / TRAINING_PAGES / __version__ / run.id
    if name in SCRIPTS:
        path = Path(str(BUILT / SCRIPTS[name]))
    elif name in ("index.html", "training.bin", f"{run.config.dataset}.bin"):
        path = folder / name
        if not await asyncio.to_thread(path.is_file):
            order = services.answers.order(
                "training_page", run.id, run=str(run.path.resolve()), folder=str(folder.resolve())
            )
            try:
                async with services.answers.open(request, services.person.id, order):
                    pass
            except BusyError:
                raise
            except UserError as error:
                page = site_page("Training in this tab", f"<main><p>{html.escape(str(error))}</p></main>", "")
                return HTMLResponse(page, 404, headers)
    else:
        raise UserError(f"The page that trains has no file {name[:40]!r}.")
    return FileResponse(str(path), headers=headers)
