"""All routes, and what is answered where there is nothing. Every id is checked."""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from app.api import batches, classrooms, downloads, events, images, labs, losses, monitoring, runs, spaces
from app.api.access import Rule, access
from app.api.headers import NO_STORE
from app.payloads.projection_info import projection_infos
from app.payloads.protocol.common import ROUTES
from app.runtime.readiness import obstacles
from app.runtime.services import services
from dmlviz import __version__
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.text import one_line


def routes(base_path: str = "") -> list[Mount]:
    """Every route, below `base_path`. They answer GET, but for those that are sent a run or a question about a loss."""
    answered = [
        Route("/health", health),
        Route("/health/ready", readiness),
        Route("/methods.json", methods),
        *monitoring.routes(),
        *downloads.routes(),
        *events.routes(),
        *runs.routes(),
        *batches.routes(),
        *losses.routes(),
        *labs.routes(),
        *spaces.routes(),
        *images.routes(),
        *classrooms.routes(),
        Route("/{rest:path}", not_found),
    ]
    return [Mount(f"{base_path}/{ROUTES}", routes=answered)]


def user_error(_request: Request, error: Exception) -> Response:
    """Say in one sentence what is not there (404), or what was there and is damaged (410)."""
    return JSONResponse({"error": str(error)}, 410 if isinstance(error, DamagedFileError) else 404, NO_STORE)


@access(Rule.ANYONE)
async def health(_request: Request) -> Response:
    """Whether the server answers, and its version."""
    return JSONResponse({"ok": True, "version": __version__}, headers=NO_STORE)


@access(Rule.ANYONE)
async def readiness(_request: Request) -> Response:
    """Whether a job can start (200), or what keeps it from that (503)."""
    reasons = await asyncio.to_thread(obstacles, services())
    return JSONResponse({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200, NO_STORE)


@access(Rule.ANYONE)
async def methods(_request: Request) -> Response:
    """Title and caution of every projection."""
    return JSONResponse(projection_infos(), headers={"Cache-Control": "max-age=3600"})


@access(Rule.ANYONE)
async def not_found(request: Request) -> Response:
    """Refuse an address that no route has."""
    raise UserError(f"There is nothing at {one_line(request.url.path, 80)}.")
