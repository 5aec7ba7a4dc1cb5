"""Export of a run's figures as HTML pages with CSV tables, in one zip file."""

import html
import zipfile
from typing import IO, TYPE_CHECKING

import numpy as np

from dmlviz.catalog.export_formats import FIGURES
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.page import TEMPLATES
from dmlviz.figures import data
from dmlviz.storage.csv_table import write_csv

if TYPE_CHECKING:
    import plotly.graph_objects as go

SCRIPT = "plotly.min.js"
PLOTLY_CONFIG = {"displaylogo": False, "responsive": True}


def write_figures(export: RunExport, file: IO[bytes]) -> None:
    """Write NAME.html and NAME.csv for each figure, the script shared by all pages, and README.txt.

    Figures without data are skipped; README.txt gives the reason. Raises UserError before the run's end.
    """
    from plotly.offline import get_plotlyjs

    _ = export.embeddings
    lines = [
        f"Figures of {export.run.title}. Open a page in a browser; they need {SCRIPT} beside them, no network.",
        "",
    ]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        archive.writestr(SCRIPT, get_plotlyjs())
        for name, spec in FIGURES.items():
            try:
                figure, columns = _draw(name, export)
            except UserError as error:
                lines.append(f"{spec.title} is left out. {error}")
                continue
            archive.writestr(f"{name}.html", _page(name, figure, export.run.title))
            with archive.open(f"{name}.csv", "w") as part:
                _write_table(columns, part)
            lines.append(f"{name}.html, {name}.csv: {figure.layout.title.text}. {figure.layout.meta['about']}.")
        archive.writestr("README.txt", "\n".join(lines) + "\n")


def _draw(name: str, export: RunExport) -> "tuple[go.Figure, dict[str, np.ndarray]]":
    from dmlviz.figures import drawing

    if name == "map":
        count, of = len(export.items), data.images(export.run, step=export.step).about.partition(" ")[2]
        about = f"{count:,} {of}. {export.note}".rstrip(". ")  # also those without a label
        places, title, noun = export.coordinates, PROJECTIONS[export.view].title, export.run.config.dataset_spec.noun
        figure = drawing.draw_map(places, export.labels, export.items, export.classes, title, about, noun=noun)
        return figure, _map_columns(export)
    measured = data.measure(name, export.run, export.step)
    return drawing.draw(name, measured), data.columns(measured)


def _map_columns(export: RunExport) -> dict[str, np.ndarray]:
    names = np.array([data.class_name(export.classes, int(label)) for label in export.labels])
    axes = dict(zip("xyz", np.asarray(export.coordinates).T, strict=False))
    return {"item": export.items, "class": names, **axes}


def _page(name: str, figure: "go.Figure", run: str) -> str:
    content = figure.to_html(
        full_html=False, include_plotlyjs=False, default_height="100vh", div_id=name, config=PLOTLY_CONFIG
    )
    title = html.escape(f"{FIGURES[name].title} · {run}")
    return TEMPLATES["figure"].format(title=title, script=SCRIPT, figure=content)


def _write_table(columns: dict[str, np.ndarray], file: IO[bytes]) -> None:
    import pyarrow

    # NaN becomes an empty cell.
    write_csv(pyarrow.table({name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()}), file)
