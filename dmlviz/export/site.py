"""A static site of chosen runs, lessons and labs: any web server can host it, and it asks no other address."""

import html
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.metrics import METRICS
from dmlviz.errors import UserError
from dmlviz.export.contents import LessonExport, RunExport
from dmlviz.export.page import BUILT, TEMPLATES
from dmlviz.export.site_builder import MAX_POINTS, SiteBuilder, card, map_of, map_picture, site_page
from dmlviz.export.site_runs import RunPage, write_images, write_runs
from dmlviz.ops.linear_projection import default_projection
from dmlviz.parts import parts
from dmlviz.storage.files import write_json

MAX_BYTES = 12_000_000
MARK = "dmlviz-site.json"  # says that a folder is a site, so that it may be written again
ADVICE = "choose fewer runs or lessons, or show the lessons on small images (--lesson-data digits)"
TRAINS_HERE = "Train a net in your browser: choose loss and miner, watch the map, draw a digit."
CARD_SCORES = ("precision_at_1", "map_at_r")


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
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    site = SiteBuilder(new, title, lessons, tuple(dict.fromkeys(labs)), playground, data_root)
    try:
        new.mkdir(parents=True)
        for name, source in (("script.js", "standalone.js"), ("style.css", "standalone.css")):
            (new / name).write_bytes((BUILT / source).read_bytes())
        write_images(new / "images", pages_by_name.values())
        if playground:
            from dmlviz.export.playground import write_playground, write_service_worker  # they load torch

            tasks = {
                f"{lesson.lesson.name}-{number}": run for lesson in lessons for number, run in enumerate(lesson.runs, 1)
            }
            configs = {name: export.run.config for name, export in tasks.items()}
            site.trained = write_playground(new, playground, title, configs, data_root)
        for part in parts():
            if part.site is not None:
                part.site(site)
        _write_index(site, pages)
        names = [export.lesson.name for export in lessons]
        write_json(new / MARK, {"runs": [page.name for page in pages], "lessons": names, "labs": list(site.labs)})
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
    no_pads = {page.kept.run.id: page for page in pages if page.no_net}.values()
    notes = [f"{page.kept.run.title} has no drawing pad. {page.no_net}" for page in no_pads]
    if left_out:
        limit = f"{MAX_BYTES / 1e6:.0f} MB"
        notes.append(f"To fit into {limit}, films leave out {left_out:,} frames. To keep all: {ADVICE}.")
    return notes


def _write_index(site: SiteBuilder, pages: Sequence[RunPage]) -> None:
    playground = [
        card("playground/index", _pixels(name, site.data_root), "Playground", TRAINS_HERE)
        for name in site.playground[:1]
    ]
    runs = [card(f"runs/{page.name}", map_of(page.kept), page.title, _scores(page.kept)) for page in pages]
    cards = [*playground, *site.cards, *runs, *site.last_cards]
    site.page(
        "index", site.title, TEMPLATES["index"].format(title=html.escape(site.title), cards="\n".join(cards)), root=""
    )


def _pixels(dataset: str, data_root: Path | None) -> str:
    """Return the test images of a data set by their pixels: what a training begins with."""
    split = data.load(dataset, data_root).test
    pixels = split.images.reshape(len(split), -1)[:MAX_POINTS].astype(np.float32)
    labels = split.labels[:MAX_POINTS]
    return map_picture(default_projection(pixels, labels).project(pixels), labels, int(labels.max()) + 1)


def _scores(export: RunExport) -> str:
    """Return a run's main scores, as in "P@1 0.93 · MAP@R 0.87 on 596 test images"; own vectors are embeddings."""
    metrics = export.run.metrics
    scores = [f"{METRICS[name].title} {metrics[name]:.3f}" for name in CARD_SCORES if name in metrics]
    queries = metrics.get("queries", math.nan)
    is_own = not DATASETS[export.run.config.dataset].trainable
    nouns = "embeddings" if is_own else f"test {export.run.config.dataset_spec.noun}s"
    return " · ".join(scores) + (f" on {queries:,.0f} {nouns}" if scores and math.isfinite(queries) else "")


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
