"""Pages of the documentation that are made of the catalogs: one for each choice, the glossary, questions, keys."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from dmlviz_app.learn import cards, catalog_index
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.catalog_index import KINDS, Kind
from latex2mathml.converter import convert

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.glossary import GLOSSARY
from dmlviz.catalog.metrics import MetricSpec
from dmlviz.catalog.parameters import Spec
from dmlviz.cli.reference_tables import TABLES, command_pages, table
from dmlviz.config import ProjectionConfig
from dmlviz.data import load
from dmlviz.figures.palette import class_colors
from dmlviz.lessons.examples import example, loop
from dmlviz.projection import project

ROOT = Path(__file__).resolve().parents[1]
ALL = {**KINDS, "dataset": Kind("dataset", "Data sets", "Data set", DATASETS)}
CHOSEN = ("loss", "miner", "sampler", "net", "dataset")  # fields of a training
STYLE = """.drawing { float: right; width: min(15rem, 100%); margin: 0 0 1rem 1rem; fill: none; stroke-width: 2.5 }
@media (max-width: 44rem) { .drawing { float: none; display: block } }
.drawing .axis, .drawing .ring, .drawing .arrow { stroke: currentColor; opacity: .5 }
.drawing .near { stroke: #11845b }
.drawing .far { stroke: #d03050 }
.drawing .dot { stroke-linecap: round; stroke-width: 4 }
.map { width: min(32rem, 100%) }
img[src*="assets/pages/"] { width: 100%; aspect-ratio: 16 / 9; object-fit: cover; object-position: left }
[data-md-color-scheme="slate"] img[src*="assets/pages/"] { object-position: right }
.formula { overflow-x: auto; overflow-y: hidden; padding: .4rem 0 }
"""


def style_sheet() -> str:
    """Return the rules for the pages' drawings and formulas."""
    colors = class_colors(10, "light")
    return STYLE + "".join(
        f".drawing .c{i} {{ fill: {color}; stroke: {color} }}\n.map .c{i} {{ fill: {color} }}\n"
        for i, color in enumerate(colors)
    )


@cache
def catalog_pages() -> tuple[dict[str, str], list[Any]]:
    """Return the pages (Markdown by path below docs/) and their part of the navigation."""
    pages = command_pages()
    navigation: list[Any] = [{"Commands": ["COMMANDS.md", *pages]}]
    for kind in ALL.values():
        names = _names(kind)
        pages |= {_path(kind, name): "\n".join(_page(kind, kind.catalog[name])) for name in names}
        pages[_path(kind, "index")] = "\n".join([f"# {kind.title}\n", *index(kind.name)])
        entries = [{kind.catalog[name].title: _path(kind, name)} for name in names]
        navigation.append({kind.title: [_path(kind, "index"), *entries]})
    for path, title, lines in (
        ("catalog/questions.md", "When a training goes wrong", _questions()),
        ("catalog/keys.md", "Keyboard", _keys()),
        ("catalog/glossary.md", "Glossary", _glossary()),
    ):
        pages[path] = "\n".join([f"# {title}\n", *lines])
    return pages, navigation


def index(name: str, folder: str = "") -> Iterator[str]:
    """List the entries of a kind by family, each with its sentence and a link, from a page in `folder` of the site."""
    kind = ALL[name]
    for family, entries in catalog_index.by_family([kind.catalog[each] for each in _names(kind)]).items():
        if family:
            yield f"## {family[0].upper()}{family[1:]}\n"
        yield from table(
            (kind.noun.lower(), "what it is"),
            ((f"[{spec.title}]({folder}{spec.name}.md)<br>`{spec.name}`", spec.summary) for spec in entries),
        )


def _names(kind: Kind) -> list[str]:
    return [*(DATASETS.builtin if kind.name == "dataset" else kind.catalog)]  # no data set that somebody has added


def _path(kind: Kind, name: str) -> str:
    return f"catalog/{kind.name}/{name}.md"


def _page(kind: Kind, spec: Spec) -> Iterator[str]:
    yield f"# {spec.title}\n"
    yield f"{kind.noun}{f' · {spec.family}' if spec.family else ''} · `{spec.name}`\n"
    yield f"{spec.summary}\n"
    if spec.formula:
        yield f'<div class="formula">{convert(spec.formula, display="block")}</div>\n'
    symbol = re.search(rf'<symbol id="{kind.name}-{spec.name}" (.*?)</symbol>', cards.PICTURES.read_text(), re.DOTALL)
    if kind.name == "projection" and spec.name != "plane":
        yield from _map(spec.name)
    elif symbol and "href=" not in symbol[1]:  # one made of others' drawings
        yield f'<svg class="drawing" role="img" aria-label="{spec.title}" {symbol[1]}</svg>\n'
    for title, text in (
        ("In words", getattr(spec, "explanation", "")),
        ("When to use it", spec.when_to_use),
        ("Caution", catalog_index.caveat(spec)),
        ("Range", spec.range if isinstance(spec, MetricSpec) else ""),
        ("Reference", spec.reference),
        ("Also called", ", ".join(spec.aliases)),
    ):
        if text:
            yield f"**{title}.** {text}\n"
    related = catalog_index.related_entries(spec) if kind.name in KINDS else []
    links = (f"[{of.catalog[name].title}](../{of.name}/{name}.md)" for of, name in related)
    if related or catalog_index.no_miner_note(spec):
        yield f"**Combines with.** {', '.join(links) or catalog_index.no_miner_note(spec)}\n"
    advice = {"": catalog_index.recommendations(spec)} | {
        f" in {dimensions} dimensions": settings
        for dimensions, settings in catalog_index.recommended_in_dimensions(spec).items()
    }
    for where, settings in advice.items():
        if settings:
            told = ", ".join(f"{label.lower()} {value}" for label, value in settings.items())
            yield f"**Recommended settings{where}.** {told}\n"
    if spec.parameters:
        yield "## Parameters\n"
        yield from table(
            ("parameter", "default", "may be", "meaning"),
            (
                (f"`{each.name}`", catalog_index.default(each), catalog_index.limits(each), each.help)
                for each in spec.parameters
            ),
        )
    yield from _use(kind, spec)


def _map(method: str) -> Iterator[str]:
    """Draw the pixels of the digits that come with the program."""
    test = load("digits").test
    points = test.images.reshape(len(test.images), -1) / 16
    drawn = project(points, ProjectionConfig(method=method), labels=test.labels)
    low, high = drawn.coordinates.min(axis=0), drawn.coordinates.max(axis=0)
    places = 6 + 308 * (drawn.coordinates - low) / (high - low).max()
    dots = "".join(
        f'<circle class="c{label}" cx="{x:.0f}" cy="{y:.0f}" r="3"/>'
        for (x, y), label in zip(places, test.labels, strict=True)
    )
    kept = drawn.quality.overall["neighbors_kept"] * 10
    title = ALL["projection"].catalog[method].title
    said = f"The pixels of {len(points)} digits by {title}: the map keeps {kept:.1f} of 10 neighbors."
    yield f'<svg class="map" role="img" aria-label="{said}" viewBox="0 0 320 320">{dots}</svg>\n\n{said}\n'


def _use(kind: Kind, spec: Spec) -> Iterator[str]:
    yield "## Use\n"
    if kind.name in CHOSEN:
        yield f"```sh\ndmlviz train --{kind.name} {spec.name}\n```\n"
    elif kind.name == "projection":
        yield f"```sh\ndmlviz project latest --method {spec.name}\n```\n"
    if kind.name in KINDS:
        shown = example(kind.name, spec.name)
        yield f"```python\n{shown.use.strip()}\n```\n"
        yield f"## Code\n\n{shown.about}\n\n```python\n{shown.code.strip()}\n```\n"
        if whole := loop(kind.name, spec.name):
            yield f"A whole training:\n\n```python\n{whole.strip()}\n```\n"


def _questions() -> Iterator[str]:
    for answer in ANSWERS.values():
        yield f"## {answer.title}\n\n{answer.text}\n"
        yield from (f"- {run.title}: {run.measured}" for run in answer.runs)
        yield f"\nAlso asked as: {'; '.join(answer.symptoms)}.\n"


def _keys() -> Iterator[str]:
    """Read the list of Help, which is held against what the map does."""
    source = (ROOT / "frontend" / "src" / "welcome" / "help.ts").read_text()
    listed = re.findall(r'^  \["(.*?)", "(.*?)"\],$', source, re.MULTILINE)
    yield "Keys of the map. In the app they stand under *Help*, too.\n"
    yield from table(("keys", "what they do"), listed)


def _glossary() -> Iterator[str]:
    for term in sorted(GLOSSARY.values(), key=lambda each: each.title.lower()):
        yield f"## {term.title}\n\n{term.text}\n"
        if term.entry:
            yield f"See [{ALL[term.entry[0]].catalog[term.entry[1]].title}]({'/'.join(term.entry)}.md).\n"


TABLES["scores"] = lambda: index("metric", "catalog/metric/")
TABLES["projections"] = lambda: index("projection", "catalog/projection/")
