"""The figures of a run as pages for any browser, with the numbers of each as a table, in one zip."""

import html
import zipfile
from typing import IO, TYPE_CHECKING

import numpy as np

from dmlviz.errors import UserError
from dmlviz.export.kept import Kept
from dmlviz.figures import data
from dmlviz.figures.declared import FIGURES
from dmlviz.projection.declared import PROJECTIONS

if TYPE_CHECKING:
    import plotly.graph_objects as go

SCRIPT = "plotly.min.js"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>body {{ margin: 0; }}</style>
<script src="{script}"></script>
</head>
<body>
{figure}
</body>
</html>
"""
SHOWN = {"displaylogo": False, "responsive": True}


def write_figures(kept: Kept, file: IO[bytes]) -> None:
    """Write NAME.html and NAME.csv for each figure, the script that all pages share, and README.txt, which lists them.

    A figure that this run does not give is left out, and README.txt says why. Raises UserError before the run's end.
    """
    from plotly.offline import get_plotlyjs

    _ = kept.embeddings
    told = [
        f"Figures of {kept.run.title}. Open a page in a browser; they need {SCRIPT} beside them, and no network.",
        "",
    ]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        archive.writestr(SCRIPT, get_plotlyjs())
        for name, declared in FIGURES.items():
            try:
                drawn, columns = _made(name, kept)
            except UserError as error:
                told.append(f"{declared.title} is left out. {error}")
                continue
            archive.writestr(f"{name}.html", _page(name, drawn, kept.run.title))
            with archive.open(f"{name}.csv", "w") as part:
                _write_table(columns, part)
            told.append(f"{name}.html, {name}.csv: {drawn.layout.title.text}. {drawn.layout.meta['about']}.")
        archive.writestr("README.txt", "\n".join(told) + "\n")


def _made(name: str, kept: Kept) -> "tuple[go.Figure, dict[str, np.ndarray]]":
    from dmlviz.figures import drawing

    if name == "map":
        items = None if kept.step is None else kept.items
        about = data.images(kept.run, step=kept.step).about
        title = PROJECTIONS[kept.view].title
        figure = drawing.draw_map(kept.coordinates, kept.labels, items, kept.classes, title, about)
        return figure, _places(kept)
    measured = data.measure(name, kept.run, kept.step)
    return drawing.draw(name, measured), data.columns(measured)


def _places(kept: Kept) -> dict[str, np.ndarray]:
    called = np.array([data.class_name(kept.classes, int(label)) for label in kept.labels])
    axes = dict(zip("xyz", np.asarray(kept.coordinates).T, strict=False))
    return {"item": kept.items, "class": called, **axes}


def _page(name: str, figure: "go.Figure", run: str) -> str:
    drawn = figure.to_html(full_html=False, include_plotlyjs=False, default_height="100vh", div_id=name, config=SHOWN)
    title = html.escape(f"{FIGURES[name].title} · {run}")
    return PAGE.format(title=title, script=SCRIPT, figure=drawn)


def _write_table(columns: dict[str, np.ndarray], file: IO[bytes]) -> None:
    import pyarrow
    from pyarrow import csv

    # What is not a number is an empty cell.
    table = pyarrow.table({name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()})
    csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))
