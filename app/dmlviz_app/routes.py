"""All routes, and the answers to errors. Every ID is checked."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from dmlviz.errors import BusyError, DamagedFileError, DiskFullError, UserError
from dmlviz.storage.disk_space import disk_full_of, is_disk_full
from dmlviz.storage.text import one_line
from dmlviz.version import __version__
from dmlviz_app.feature import FEATURES
from dmlviz_app.forms.view_query import projection_infos
from dmlviz_app.server.access import Routes, Rule, access
from dmlviz_app.server.answers import UnderWayError
from dmlviz_app.server.headers import NO_STORE, JSONResponse
from dmlviz_app.server.monitoring_routes import obstacles
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import services

own = Routes()


def routes(base_path: str = "") -> list[Mount]:
    """Return the routes of all features, below `base_path`. They answer GET, except those that receive a body.

    Raises:
        UserError: If one, of a plug-in, does not declare who may ask.
    """
    of_features = (route for feature in FEATURES for route in feature.routes())
    answers = [*own(), *of_features, Route("/{rest:path}", not_found)]
    for route in answers:
        if not hasattr(route.endpoint, "access_rule"):
            raise UserError(f"The route {route.path} does not say who may ask: write @access(Rule.VISITOR) above it.")
    return [Mount(f"{base_path}/{ROUTES}", routes=answers)]


def user_error(_request: Request, error: Exception) -> Response:
    """Say in one sentence what is not there (404), damaged (410), has to wait (503), or that a disk is full (507).

    What is being prepared is named (202), to be asked for again when that work is over.
    """
    if isinstance(error, UnderWayError):
        return JSONResponse({"work": error.work}, 202, NO_STORE)
    statuses = {DamagedFileError: 410, BusyError: 503, DiskFullError: 507}
    status = next((status for kind, status in statuses.items() if isinstance(error, kind)), 404)
    return JSONResponse({"error": str(error)}, status, NO_STORE)


def os_error(request: Request, error: Exception) -> Response:
    """Say that the disk is full, where a library found it so; pass on every other error of the system."""
    if not (isinstance(error, OSError) and is_disk_full(error)):
        raise error
    return user_error(request, disk_full_of(error, services().settings.runs, services().data))


EXCEPTION_HANDLERS: dict[Any, Any] = {UserError: user_error, DiskFullError: user_error, OSError: os_error}


@own.get(Rule.ANYONE, "/health")
async def health(_request: Request) -> Response:
    """Return whether the server answers, and its version."""
    return JSONResponse({"ok": True, "version": __version__}, headers=NO_STORE)


@own.get(Rule.ANYONE, "/health/ready")
async def readiness(_request: Request) -> Response:
    """Return whether a job can start (200), or what keeps it from that (503)."""
    reasons = await asyncio.to_thread(obstacles, services())
    return JSONResponse({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200, NO_STORE)


@own.get(Rule.ANYONE, "/methods.json")
async def methods(_request: Request) -> Response:
    """Return the title and caution of every projection."""
    return JSONResponse(projection_infos(), headers={"Cache-Control": "max-age=3600"})


@access(Rule.ANYONE)
async def not_found(request: Request) -> Response:
    """Refuse an address that no route has."""
    raise UserError(f"There is nothing at {one_line(request.url.path, 80)}.")
