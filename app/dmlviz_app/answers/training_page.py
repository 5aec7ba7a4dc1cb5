"""A page that trains a run's settings in the browser, for who would wait in the queue."""

import asyncio
import html
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from dmlviz.errors import BusyError, UserError
from dmlviz.export.page import BUILT
from dmlviz.export.site_page import site_page
from dmlviz.version import __version__
from dmlviz_app.server.access import Rule, access, personal
from dmlviz_app.server.headers import NO_STORE
from dmlviz_app.server.services import TRAINING_PAGES

SCRIPTS = {"playground.js": "playground.js", "playground_worker.js": "playground_worker.js"}
SCRIPTS["style.css"] = "standalone.css"
# What the page needs beside what all pages may do: code in WebAssembly, which no other page has.
POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'; frame-ancestors 'self'"
)


def routes() -> list[Route]:
    """Return the route of the page and its files."""
    return [Route("/runs/{run}/training/{file}", file)]


@access(Rule.RUN_READER)
async def file(request: Request) -> Response:
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
