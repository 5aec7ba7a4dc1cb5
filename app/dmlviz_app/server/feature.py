"""What the server adds to the program."""

from dmlviz.parts import CORE, lazy
from dmlviz_app.feature import Feature

FEATURE = Feature(
    name="server",
    routes=lazy("dmlviz_app.server.monitoring_routes:routes"),
    kinds=CORE.kinds,
    commands=CORE.commands,
)
