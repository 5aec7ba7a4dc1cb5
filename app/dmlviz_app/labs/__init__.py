"""Labs: the experiments, their studies, figures and playgrounds; what it adds to the program."""

from pathlib import Path

from dmlviz.parts import LABS, Kind, lazy
from dmlviz_app.feature import Feature, Page

FEATURE = Feature(
    name="labs",
    page=Page(
        address="labs",
        title="Labs",
        script=Path(__file__).with_name("page.py"),
        catalog="dmlviz.labs.registry:LABS",
        slow_imports=["dmlviz_app.labs.view"],
    ),
    routes=lazy("dmlviz_app.labs.routes:routes"),
    kinds={**LABS.kinds, "lab_file": Kind("dmlviz_app.labs.files:lab_file", "answer")},
    commands=LABS.commands,
    components=[
        "labs/lab_picture/labPicture.tsx",
        "labs/lab_planes/labPlanes.tsx",
        "labs/sketch_search/sketchSearch.tsx",
        "labs/tracker/tracker.tsx",
        "labs/metric_playground/metricPlayground.tsx",
        "labs/threshold/threshold.tsx",
    ],
    site=LABS.site,
)
