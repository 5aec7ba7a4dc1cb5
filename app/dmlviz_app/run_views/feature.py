"""What the views of a run add to the program: the routes that every page with a run asks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmlviz_app.feature import Feature

if TYPE_CHECKING:
    from starlette.routing import Route


def _routes() -> "Sequence[Route]":
    from dmlviz_app.run_views import downloads, event_routes, query_routes, routes, training_page

    modules = (downloads, event_routes, routes, query_routes, training_page)
    return [route for module in modules for route in module.routes()]


FEATURE = Feature(
    name="run_views",
    routes=_routes,
    components=[
        "workbench.ts",
        "workbench/progress/progress.ts",
        "workbench/query_pad/queryPad.ts",
        "workbench/baseline_wait/baselineWait.tsx",
        "explore/script_preload/scriptPreload.ts",
    ],
)
