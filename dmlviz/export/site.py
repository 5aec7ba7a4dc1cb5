"""A static site of chosen runs, lessons and labs: any web server can host it, and it asks no other address."""

import html
import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dmlviz.catalog.metrics import METRICS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.figures import SCRIPT
from dmlviz.export.lab_page import DRAW, lab_page, lab_picture
from dmlviz.export.lesson_page import LessonExport, lesson_page
from dmlviz.export.map_picture import map_picture
from dmlviz.export.page import BUILT, page_data, quality_note
from dmlviz.export.page_contents import MAX_FRAME_BYTES, page_contents
from dmlviz.export.query_net import QueryNet, query_net
from dmlviz.labs.registry import LABS
from dmlviz.storage.files import write_json

MAX_BYTES = 12_000_000
MARK = "dmlviz-site.json"  # says that a folder is a site, so that it may be written again
CARD_SCORES = ("precision_at_1", "map_at_r")

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="dmlviz">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'; img-src 'self' data: blob:; \
style-src 'self' 'unsafe-inline'; connect-src 'self' blob:; object-src 'none'; base-uri 'none'">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}style.css">
<title>{title}</title>
</head>
<body>
{body}
</body>
</html>
"""

RUN = """<header>
<nav><a href="../index.html">{site}</a></nav>
<h1>{title}</h1>
<dl>{facts}</dl>
</header>
<main class="run" id="run">
<section id="map"></section>
<div class="beside">
{pad}
<section id="inspector"></section>
</div>
<section id="scores"></section>
<section id="loss_curve"></section>
</main>
<footer>{measured}</footer>
<noscript>The map needs JavaScript.</noscript>
<script type="application/json" id="kept">{kept}</script>
<script type="module" src="../script.js"></script>"""

PAD = '<section id="query" aria-label="Draw a query"></section>'

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


@dataclass(frozen=True)
class _RunPage:
    """A run with what its page loads; the frames come last, from what is left of the site's size."""

    kept: RunExport
    net: QueryNet | None = None
    no_net: str = ""  # why there is none; empty for a page that should have none

    @property
    def name(self) -> str:
        drawing = self.kept.drawing
        return self.kept.run.id if drawing is None else f"{self.kept.run.id}-{drawing.id}"


def write_site(
    folder: Path,
    runs: Sequence[RunExport],
    labs: Sequence[str] = (),
    title: str = "dmlviz",
    lessons: Sequence[LessonExport] = (),
) -> list[str]:
    """Write a site; an earlier site in the folder is replaced.

    Args:
        folder: A new or empty folder, or one that holds an earlier site.
        runs: Finished runs, each shown on its own view.
        labs: Names of labs with ready-made results.
        title: Title of the first page.
        lessons: Lessons with the finished run of each task, whose page has no drawing pad.

    Returns:
        Notes: which pages have no drawing pad, and why.

    Raises:
        UserError: If nothing was chosen, a run is not finished, the folder holds something else, or the site would be
            larger than 12 MB even with one frame a run.
    """
    if not runs and not labs and not lessons:
        raise UserError(
            "A site shows at least one run, lesson or lab; got none: name runs, or add --lesson NAME or --lab NAME."
        )
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise UserError(f"{folder} holds other files, which are not touched: choose a new folder.")
    pages = [_run_page(export) for export in runs]
    shown = {page.name: page for page in [*(_RunPage(run) for lesson in lessons for run in lesson.runs), *pages]}
    lab_pages = {name: lab_page(name, title) for name in dict.fromkeys(labs)}
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        new.mkdir(parents=True)
        for name, source in (("script.js", "standalone.js"), ("style.css", "standalone.css")):
            (new / name).write_bytes((BUILT / source).read_bytes())
        _write_images(new, list(shown.values()))
        _write_labs(new, lab_pages)
        _write_lessons(new, lessons, title)
        _write_index(new, pages, lessons, list(lab_pages), title)
        _write_runs(new, list(shown.values()), title)
        names = [export.lesson.name for export in lessons]
        write_json(new / MARK, {"runs": [page.name for page in pages], "lessons": names, "labs": list(lab_pages)})
        size = _size(new)
        if size > MAX_BYTES:
            raise UserError(
                f"A site takes at most {MAX_BYTES // 10**6} MB; this one {size / 1e6:.1f} MB: choose fewer."
            )
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return [f"{page.kept.run.title} has no drawing pad. {page.no_net}" for page in pages if page.no_net]


def _run_page(export: RunExport) -> _RunPage:
    try:
        return _RunPage(export, query_net(export))
    except UserError as error:
        _ = export.embeddings  # raises for a run that is not finished
        return _RunPage(export, None, str(error))


def _write_images(folder: Path, pages: Sequence[_RunPage]) -> None:
    """Write the test images of each data set once."""
    (folder / "images").mkdir()
    for page in pages:
        sheets = page.kept.sheets
        for number, png in enumerate(sheets.pngs if sheets else ()):
            (folder / "images" / f"{page.kept.run.config.dataset}-{number}.png").write_bytes(png)


def _write_labs(folder: Path, labs: dict[str, str]) -> None:
    if not labs:
        return
    from plotly.offline import get_plotlyjs

    (folder / SCRIPT).write_text(get_plotlyjs(), encoding="utf-8")
    (folder / "labs").mkdir()
    (folder / "labs" / "figures.js").write_text(DRAW, encoding="utf-8")
    for name, body in labs.items():
        page = FRAME.format(root="../", title=html.escape(LABS[name].title), body=body)
        (folder / "labs" / f"{name}.html").write_text(page, encoding="utf-8")


def _write_lessons(folder: Path, lessons: Sequence[LessonExport], title: str) -> None:
    if not lessons:
        return
    (folder / "formulas.js").write_bytes((BUILT / "formulas.js").read_bytes())
    (folder / "lessons").mkdir()
    for export in lessons:
        body = lesson_page(export, [_RunPage(run).name for run in export.runs], title)
        page = FRAME.format(root="../", title=html.escape(export.lesson.title), body=body)
        (folder / "lessons" / f"{export.lesson.name}.html").write_text(page, encoding="utf-8")


def _write_index(
    folder: Path, pages: Sequence[_RunPage], lessons: Sequence[LessonExport], labs: Sequence[str], title: str
) -> None:
    cards = [
        *(
            _card(f"lessons/{one.lesson.name}", _map(one.runs[-1]), one.lesson.title, one.lesson.summary)
            for one in lessons
        ),
        *(_card(f"runs/{page.name}", _map(page.kept), page.kept.run.title, _scores(page.kept)) for page in pages),
        *(_card(f"labs/{name}", lab_picture(name), LABS[name].title, LABS[name].question) for name in labs),
    ]
    body = INDEX.format(title=html.escape(title), cards="\n".join(cards))
    (folder / "index.html").write_text(FRAME.format(root="", title=html.escape(title), body=body), encoding="utf-8")


def _card(page: str, picture: str, title: str, text: str) -> str:
    return CARD.format(link=f"{page}.html", picture=picture, title=html.escape(title), text=html.escape(text))


def _map(export: RunExport) -> str:
    return map_picture(export.coordinates, export.labels, len(export.classes))


def _scores(export: RunExport) -> str:
    """Return a run's main scores, as in "P@1 0.93 · MAP@R 0.87 on 596 test images"."""
    metrics = export.run.metrics
    shown = [f"{METRICS[name].title} {metrics[name]:.3f}" for name in CARD_SCORES if name in metrics]
    queries = metrics.get("queries", math.nan)
    return " · ".join(shown) + (f" on {queries:,.0f} test images" if shown and math.isfinite(queries) else "")


def _write_runs(folder: Path, pages: Sequence[_RunPage], title: str) -> None:
    """Write the pages of the runs, with as many frames as fit."""
    (folder / "runs").mkdir()
    for page in pages:
        if page.net is not None:
            (folder / "runs" / f"{page.kept.run.id}.weights.bin").write_bytes(page.net.weights)
            (folder / "runs" / f"{page.kept.run.id}.embeddings.bin").write_bytes(page.net.embeddings)
    without_frames = [_run_html(page, title, 0) for page in pages]
    room = MAX_BYTES - _size(folder) - sum(len(text.encode()) for text in without_frames)
    # In base64 three bytes are four letters; even without room, the last frame is kept.
    budget = min(MAX_FRAME_BYTES, max(0, room) * 3 // 4 // max(1, len(pages)))
    for page in pages:
        (folder / "runs" / f"{page.name}.html").write_text(_run_html(page, title, budget), encoding="utf-8")


def _run_html(page: _RunPage, site: str, frame_bytes: int) -> str:
    run, sheets = page.kept.run, page.kept.sheets
    contents: dict[str, Any] = page_contents(replace(page.kept, sheets=None), frame_bytes)
    names = [f"../images/{run.config.dataset}-{number}.png" for number in range(len(sheets.pngs) if sheets else 0)]
    contents["sprites"] = {"urls": names, "tile": sheets.tile if sheets else 28}
    if page.net is not None:
        files = {"weights_url": f"{run.id}.weights.bin", "embeddings_url": f"{run.id}.embeddings.bin"}
        contents["query"] = page.net.description | files
    facts = [f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in page_data(page.kept)]
    body = RUN.format(
        site=html.escape(site),
        title=html.escape(run.title),
        facts="".join(facts),
        measured=html.escape(quality_note(page.kept, contents["left_out"])),
        kept=json.dumps(contents, separators=(",", ":")).replace("<", "\\u003c"),
        pad=PAD if page.net is not None else "",
    )
    return FRAME.format(root="../", title=html.escape(run.title), body=body)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
