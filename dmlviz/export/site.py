"""A static site of chosen runs, lessons and labs: any web server can host it, and it asks no other address."""

import gzip
import html
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dmlviz import data
from dmlviz.catalog.metrics import METRICS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.lab_page import lab_figures, lab_page, lab_picture
from dmlviz.export.lesson_page import LessonExport, lesson_page
from dmlviz.export.page import BUILT
from dmlviz.export.site_page import site_page
from dmlviz.export.site_runs import RunPage, write_images, write_runs
from dmlviz.figures.palette import class_colors
from dmlviz.labs.registry import LABS
from dmlviz.ops.linear_projection import default_projection
from dmlviz.storage.files import write_json

MAX_BYTES = 12_000_000
MARK = "dmlviz-site.json"  # says that a folder is a site, so that it may be written again
ADVICE = "choose fewer runs or lessons, or show the lessons on small images (--lesson-data digits)"
TRAINS_HERE = "Train a net in your browser: choose loss and miner, watch the map, draw a digit."
CARD_SCORES = ("precision_at_1", "map_at_r")

INDEX = """<header>
<h1>{title}</h1>
</header>
<main class="cards">
{cards}
</main>
<footer>Made with dmlviz. This site needs no server but the one that hands out its files.</footer>"""

CARD = """<a class="card" href="{link}">
<figure>{picture}</figure>
<h2>{title}</h2>
<p>{text}</p>
</a>"""


def write_site(
    folder: Path,
    runs: Sequence[RunExport],
    labs: Sequence[str] = (),
    title: str = "dmlviz",
    lessons: Sequence[LessonExport] = (),
    playground: Sequence[str] = (),
    data_root: Path | None = None,
) -> list[str]:
    """Write a site; an earlier site in the folder is replaced.

    Args:
        folder: A new or empty folder, or one that holds an earlier site.
        runs: Finished runs, each shown on its own view.
        labs: Names of labs with ready-made results.
        title: Title of the first page.
        lessons: Lessons with the finished run of each task, whose page has no drawing pad.
        playground: Names of the data sets of a page that trains by itself; none for a site without one.
        data_root: Folder of the data sets; the default one when None.

    Returns:
        Notes: The pages without a drawing pad and the reasons; films that were shortened.

    Raises:
        UserError: If nothing was chosen, a run is not finished, the folder holds something else, or the site would be
            larger than 12 MB even with one frame a run.
    """
    if not runs and not labs and not lessons and not playground:
        raise UserError(
            "A site shows at least one run, lesson, lab or playground; got none: name runs, or add --lesson NAME, "
            "--lab NAME or --playground."
        )
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise UserError(f"{folder} holds other files, which are not touched: choose a new folder.")
    pages = [RunPage.with_pad(export) for export in runs]
    pages_by_name = {page.name: page for page in [*(RunPage(run) for lesson in lessons for run in lesson.runs), *pages]}
    lab_pages = {name: lab_page(name, title) for name in dict.fromkeys(labs)}
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        new.mkdir(parents=True)
        for name, source in (("script.js", "standalone.js"), ("style.css", "standalone.css")):
            (new / name).write_bytes((BUILT / source).read_bytes())
        write_images(new / "images", pages_by_name.values())
        _write_labs(new, lab_pages)
        trained: Mapping[str, str] = {}
        if playground:
            from dmlviz.export.playground import write_playground, write_service_worker  # they load torch

            tasks = {
                f"{lesson.lesson.name}-{number}": run for lesson in lessons for number, run in enumerate(lesson.runs, 1)
            }
            configs = {name: export.run.config for name, export in tasks.items()}
            trained = write_playground(new, playground, title, configs, data_root)
        _write_lessons(new, lessons, title, trained)
        _write_index(new, pages, lessons, list(lab_pages), title, playground, data_root)
        names = [export.lesson.name for export in lessons]
        write_json(new / MARK, {"runs": [page.name for page in pages], "lessons": names, "labs": list(lab_pages)})
        left_out = write_runs(new / "runs", list(pages_by_name.values()), title, site_page, MAX_BYTES - _size(new))
        if playground:
            write_service_worker(new)
        size = _size(new)
        if size > MAX_BYTES:
            raise UserError(
                f"A site takes at most {MAX_BYTES / 1e6:.0f} MB; this one {size / 1e6:.1f} MB, with one frame a run: "
                f"{ADVICE}."
            )
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    notes = [f"{page.kept.run.title} has no drawing pad. {page.no_net}" for page in pages if page.no_net]
    if left_out:
        limit = f"{MAX_BYTES / 1e6:.0f} MB"
        notes.append(f"To fit into {limit}, films leave out {left_out:,} frames. To keep all: {ADVICE}.")
    return notes


def _write_labs(folder: Path, labs: dict[str, str]) -> None:
    if not labs:
        return
    (folder / "labs").mkdir()
    (folder / "labs" / "figures.js").write_bytes((BUILT / "figures.js").read_bytes())
    (folder / "labs" / "plotly.bin").write_bytes(gzip.compress((BUILT / "plotly.js").read_bytes(), mtime=0))
    for name, body in labs.items():
        (folder / "labs" / f"{name}.html").write_text(site_page(LABS[name].title, body), encoding="utf-8")
        (folder / "labs" / f"{name}.bin").write_bytes(lab_figures(name))


def _write_lessons(folder: Path, lessons: Sequence[LessonExport], title: str, trained: Mapping[str, str]) -> None:
    if not lessons:
        return
    (folder / "formulas.js").write_bytes((BUILT / "formulas.js").read_bytes())
    (folder / "lessons").mkdir()
    for export in lessons:
        body = lesson_page(export, [RunPage(run).name for run in export.runs], title, trained)
        (folder / "lessons" / f"{export.lesson.name}.html").write_text(
            site_page(export.lesson.title, body), encoding="utf-8"
        )


def _write_index(
    folder: Path,
    pages: Sequence[RunPage],
    lessons: Sequence[LessonExport],
    labs: Sequence[str],
    title: str,
    playground: Sequence[str],
    data_root: Path | None,
) -> None:
    cards = [
        *(
            [_card("playground/index", _pixels(playground[0], data_root), "Playground", TRAINS_HERE)]
            if playground
            else ()
        ),
        *(
            _card(f"lessons/{one.lesson.name}", _map(one.runs[-1]), one.lesson.title, one.lesson.summary)
            for one in lessons
        ),
        *(_card(f"runs/{page.name}", _map(page.kept), page.kept.run.title, _scores(page.kept)) for page in pages),
        *(_card(f"labs/{name}", lab_picture(name), LABS[name].title, LABS[name].question) for name in labs),
    ]
    body = INDEX.format(title=html.escape(title), cards="\n".join(cards))
    (folder / "index.html").write_text(site_page(title, body, root=""), encoding="utf-8")


def _card(page: str, picture: str, title: str, text: str) -> str:
    return CARD.format(link=f"{page}.html", picture=picture, title=html.escape(title), text=html.escape(text))


def _pixels(dataset: str, data_root: Path | None) -> str:
    """Return the test images of a data set by their pixels: what a training begins with."""
    split = data.load(dataset, data_root).test
    pixels = split.images.reshape(len(split), -1)[:MAX_POINTS].astype(np.float32)
    labels = split.labels[:MAX_POINTS]
    return _map_picture(default_projection(pixels, labels).project(pixels), labels, int(labels.max()) + 1)


def _map(export: RunExport) -> str:
    return _map_picture(export.coordinates, export.labels, len(export.classes))


def _scores(export: RunExport) -> str:
    """Return a run's main scores, as in "P@1 0.93 · MAP@R 0.87 on 596 test images"."""
    metrics = export.run.metrics
    scores = [f"{METRICS[name].title} {metrics[name]:.3f}" for name in CARD_SCORES if name in metrics]
    queries = metrics.get("queries", math.nan)
    return " · ".join(scores) + (f" on {queries:,.0f} test images" if scores and math.isfinite(queries) else "")


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


WIDTH, HEIGHT, BORDER = 320, 200, 12
MAX_POINTS = 600


def _map_picture(coordinates: np.ndarray, labels: np.ndarray, classes: int) -> str:
    """Return the points of a map in the colors of their classes.

    Args:
        coordinates: Positions (n × 2 or 3); a third axis is left out.
        labels: Class IDs (n).
        classes: Number of classes.

    Returns:
        SVG of 320 × 200; of many points every second, third … is drawn.
    """
    every = -(-len(coordinates) // MAX_POINTS) or 1
    finite = np.isfinite(coordinates[:, :2]).all(axis=1)
    points, classes_of = coordinates[finite][::every, :2], labels[finite][::every]
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.ones(2))
    room = np.array([WIDTH - 2 * BORDER, HEIGHT - 2 * BORDER])
    scale = float((room / np.maximum(high - low, 1e-9)).min())
    places = (points - (low + high) / 2) * scale * (1, -1) + (WIDTH / 2, HEIGHT / 2)
    colors = class_colors(classes, "light")
    # A class is one line that never leaves its points: a quarter of the bytes of a circle for each point.
    dots = "".join(
        f'<path stroke="{colors[label]}" d="{"".join(f"M{x:.1f} {y:.1f}h0" for x, y in places[classes_of == label])}"/>'
        for label in np.unique(classes_of)
    )
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Map"'
    pen = 'fill="none" stroke-width="4.4" stroke-linecap="round"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} {pen}>{dots}</svg>'
