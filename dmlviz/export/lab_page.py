"""A lab's ready-made results as a page of a static site."""

import gzip
import html
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from dmlviz.errors import UserError
from dmlviz.export.page import BUILT, TEMPLATES
from dmlviz.export.site_builder import SiteBuilder, card
from dmlviz.labs.lab_study import as_command, ready_made, study_rows
from dmlviz.labs.registry import LABS
from dmlviz.labs.thumbnail import thumbnail

if TYPE_CHECKING:
    from dmlviz.studies.study import Study


FIGURE = '<figure><div class="plot"></div></figure>'


def add_labs(site: SiteBuilder) -> None:
    """Add the labs to a site, each with a card; raise UserError for one without ready-made results."""
    for name in site.labs:
        lab = LABS[name]
        site.page(f"labs/{name}", lab.title, lab_page(name, site.title))
        (site.folder / "labs" / f"{name}.bin").write_bytes(lab_figures(name))
        site.last_cards.append(card(f"labs/{name}", lab_picture(name), lab.title, lab.question))
    if site.labs:
        (site.folder / "labs" / "figures.js").write_bytes((BUILT / "figures.js").read_bytes())
        (site.folder / "labs" / "plotly.bin").write_bytes(gzip.compress((BUILT / "plotly.js").read_bytes(), mtime=0))


def lab_page(name: str, site: str) -> str:
    """Return the body of the page.

    Args:
        name: Name of the lab.
        site: Title of the site.

    Raises:
        UserError: For an unknown lab, or one without ready-made results.
    """
    lab, study = LABS[name], _study(name)
    results = study.results()
    info = study.info
    measured = (
        f"{len(results)} trials on {lab.data_title(info['dataset'])}, {info['size']} size, on {info['machine']}. "
        f"The same with dmlviz: {as_command(name, info['size'], info['dataset'])}"
    )
    return TEMPLATES["lab"].format(
        site=html.escape(site),
        title=html.escape(lab.title),
        question=html.escape(lab.question),
        guess=html.escape(lab.guess.question),
        choices="".join(f"<li>{html.escape(choice)}</li>" for choice in lab.guess.options),
        answer=MarkdownIt("commonmark", {"html": False}).render(lab.guess.answer(results)),
        figures="\n".join(FIGURE for _ in lab.all_figures),
        name=name,
        literature=MarkdownIt("commonmark", {"html": False}).render(lab.literature_note),
        measured=html.escape(measured),
    )


def lab_figures(name: str) -> bytes:
    """Return the figures, light and dark, as gzip of JSON, which frontend/src/standalone/figures.ts draws."""
    from dmlviz.labs.drawing import draw

    lab = LABS[name]
    rows = [*study_rows(_study(name)), *lab.literature]
    figures = [[draw(spec, rows, is_dark).to_json() for is_dark in (False, True)] for spec in lab.all_figures]
    pairs = ",".join(f'{{"light":{light},"dark":{dark}}}' for light, dark in figures)
    return gzip.compress(f"[{pairs}]".encode(), mtime=0)


def lab_picture(name: str) -> str:
    """Return the picture of a lab's card, as SVG."""
    return thumbnail(LABS[name].figures[0], study_rows(_study(name)))


def _study(name: str) -> "Study":
    study = ready_made(LABS[name].name)
    if study is None:
        raise UserError(f"A site shows ready-made results of labs; {name} has none: leave it out.")
    return study
