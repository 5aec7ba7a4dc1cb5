"""Explore: set up, train, watch, query; what it adds to the program."""

from pathlib import Path

from dmlviz.parts import lazy
from dmlviz_app.feature import Feature, Page

FEATURE = Feature(
    name="explore",
    page=Page(
        address="explore",
        title="Explore",
        script=Path(__file__).with_name("page.py"),
        sidebar=lazy("dmlviz_app.explore.sidebar:sidebar"),
        slow_imports=[
            f"dmlviz_app.{name}"
            for name in ("workbench.curves_panel", "explore.settings", "explore.maps", "explore.toolbar")
        ],
    ),
    routes=lazy("dmlviz_app.explore.routes:routes"),
    components=[
        *("explore/draw_points/drawPoints.tsx", "explore/export/export.tsx"),
        *("explore/import_preview/importPreview.tsx", "explore/upload/upload.tsx"),
    ],
)
