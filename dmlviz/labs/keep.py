"""Downloads of a lab: a script that repeats it, its figures' rows as CSV, a figure as a page."""

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields

from dmlviz.labs.lab import FigureRow, FigureSpec
from dmlviz.storage.csv_table import safe_cell
from dmlviz.studies.trial import Size


def as_command(lab: str, size: Size, dataset: str) -> str:
    """Return the command that repeats a study and writes its figures' rows."""
    quick = " --quick" if size == "quick" else ""
    return f"dmlviz lab {lab}{quick} --dataset {dataset} --json {lab}.json"


def as_script(lab: str, size: Size, dataset: str) -> str:
    """Return a Python script that repeats a study in one process, and writes each figure as a page."""
    return f'''"""The lab {lab} of dmlviz. The same with several processes: {as_command(lab, size, dataset)}"""

from dmlviz.labs.drawing import draw
from dmlviz.labs.registry import LABS
from dmlviz.labs.run import run_lab

lab = LABS["{lab}"]
results = run_lab("{lab}", size="{size}", dataset="{dataset}", on_result=lambda result: print(result.trial.name))
rows = lab.rows(results)
for figure in lab.figures:
    draw(figure, rows).write_html(f"{{lab.name}}-{{figure.name}}.html")
'''


def as_csv(rows: Sequence[FigureRow]) -> str:
    """Return figures' rows as CSV: figure, series, x, y, low, high, n."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = [field.name for field in fields(FigureRow)]
    writer.writerow(names)
    writer.writerows(map(safe_cell, astuple(row)[: len(names)]) for row in rows)
    return file.getvalue()


def as_page(spec: FigureSpec, rows: Sequence[FigureRow], dark: bool = False) -> str:
    """Return a figure as an HTML page that needs no network."""
    from dmlviz.labs.drawing import draw

    page: str = draw(spec, rows, dark).to_html(include_plotlyjs=True, default_height="100vh")
    return page
