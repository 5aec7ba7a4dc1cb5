"""Runs: every run that a person sees, the queue and the limits; what it adds to the program."""

from pathlib import Path

from dmlviz.parts import lazy
from dmlviz_app.feature import Feature, Page

FEATURE = Feature(
    name="runs",
    page=Page(address="runs", title="Runs", script=Path(__file__).with_name("page.py")),
    routes=lazy("dmlviz_app.runs.routes:routes"),
    components=["runs/run_list/runList.tsx"],
)
