"""Server of all routes and pages: services, access rules, middleware, monitoring, hosting."""

from dmlviz.parts import CORE, lazy
from dmlviz_app.feature import Feature

FEATURE = Feature(
    name="server",
    routes=lazy("dmlviz_app.server.work_routes:routes"),
    kinds=CORE.kinds,
    commands=CORE.commands,
)
