"""Server of all routes and pages: services, access rules, middleware, monitoring, hosting."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmlviz.parts import CORE
from dmlviz_app.feature import Feature

if TYPE_CHECKING:
    from starlette.routing import Route


def _routes() -> "Sequence[Route]":
    from dmlviz_app.server import monitoring_routes, work_routes

    return [*monitoring_routes.routes(), *work_routes.routes()]


FEATURE = Feature(
    name="server",
    routes=_routes,
    kinds=CORE.kinds,
    commands=CORE.commands,
)
