"""Builds the site, docs with gallery and playground, into a folder of plain files: `python scripts/make_site.py`.

First all pages are written as Markdown into a folder: those of docs/, those at the top of the repository, and those
that are made of the catalogs and the commands. Then zensical makes HTML of them. SITE_URL is the address, if known.
"""

import argparse
import io
import os
import pydoc
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from catalog_pages import catalog_pages, style_sheet
from PIL import Image

from dmlviz.cli.docs import PARTS
from dmlviz.cli.reference_tables import generated

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ("CONTRIBUTING", "SECURITY", "CHANGELOG")  # pages that lie at the top of the repository
CATALOG = {"Start": ["questions"], "Understand": ["glossary"], "Reference": ["keys"]}  # further pages of these parts
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
PLAYED = "digits"  # data set of the gallery and the playground: it comes with the program
LICENSES = ROOT / "dmlviz" / "_frontend" / "LICENSES.txt"  # of the libraries in the gallery and the playground


def write_pages(folder: Path, playground: bool = True) -> None:
    """Write everything that the site is made of, as Markdown and files, into the folder."""
    files: dict[str, str | bytes] = {"catalog/catalog.css": style_sheet(), "LICENSES.txt": LICENSES.read_text()}
    files |= catalog_pages()[0] | {f"gallery/{run.id}.html": _page(run) for run in _played()}
    sources = [*(ROOT / "docs").glob("*"), *(ROOT / "assets").glob("**/*.webp"), *(ROOT / f"{n}.md" for n in PROJECT)]
    for source in sources:
        page = source.suffix == ".md"
        files[_place(source)] = _moved(source, files) if page else source.read_bytes()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    if playground:
        from dmlviz.export.site import write_site

        for note in write_site(folder / "try", [], [], "dmlviz", [], (PLAYED,), folder):
            print(note)


def _place(source: Path) -> str:
    """Return where the site has a file of the repository; any other than pages and pictures is there as plain text."""
    name = source.relative_to(ROOT).as_posix()
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    if name.startswith("assets/"):
        return name
    return f"project/{name}" if name.removesuffix(".md") in PROJECT else f"files/{name}.txt"


def _moved(source: Path, files: dict[str, str | bytes]) -> str:
    """Return a page whose links lead to where the site has the files, with what is generated in place of its marks."""
    here = Path(_place(source)).parent

    def link(found: re.Match[str]) -> str:
        target = (source.parent / found[1]).resolve()
        if not target.is_relative_to(ROOT) or not target.is_file():
            return found[0]  # a page of the catalogs
        place = _place(target)
        if place.startswith("files/"):
            files[place] = target.read_bytes()
        return f"]({os.path.relpath(place, here)}{found[2] or ''})"

    played = (
        f"- [{run.title}](gallery/{run.id}.html): {run.config.steps} steps, P@1 {run.metrics['precision_at_1']:.2f}"
        for run in _played()
    )
    markdown = LINK.sub(link, source.read_text(encoding="utf-8"))
    markdown = markdown.replace("<!-- playground -->", "- No time? [Train in this tab](try/playground/index.html).")
    bundled = "\n\n[The libraries in them](LICENSES.txt)"
    if source.stem in ("CHANGELOG", "FAULTS"):  # they have every word, and answer no question
        markdown = f"---\nsearch:\n  exclude: true\n---\n{markdown}"
    markdown = generated(markdown.replace("<!-- gallery -->", "\n".join(played) + bundled))
    return re.sub(r"^::: (\S+)$", _documented, markdown, flags=re.MULTILINE)


def _documented(found: re.Match[str]) -> str:
    """Name the place of what is documented; its heading is the name that one types."""
    name = found[1]
    thing = None if name.startswith("dmlviz.integrations.") else pydoc.locate(name)  # these import other libraries
    home = f"{thing.__module__}.{thing.__qualname__}" if hasattr(thing, "__qualname__") else name
    return f"::: {home}\n    options:\n      heading: {name}\n      toc_label: {name}\n"


@cache
def _played() -> list[Any]:
    from dmlviz.runs import Runs

    with tempfile.TemporaryDirectory() as empty:
        played = (run for run in Runs(empty).list() if run.config.dataset == PLAYED)
        return sorted(played, key=lambda run: bool(run.info.get("fails")))


def _page(run: Any) -> bytes:
    from dmlviz.export import RunExport, write

    file = io.BytesIO()
    write("html", RunExport.from_run(run), file)
    return file.getvalue()


def main() -> None:
    """Write the site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "site", help="the folder (build/site)")
    parser.add_argument("--no-playground", action="store_true", help="without the page that trains")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_pages(Path(folder) / "docs", not chosen.no_playground)
        settings = Path(folder) / "mkdocs.yml"
        settings.write_text(yaml.safe_dump(_settings(), sort_keys=False))
        subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "-f", settings], check=True)
        _add_social_picture(Path(folder) / "html")
        shutil.rmtree(chosen.site, ignore_errors=True)
        shutil.move(Path(folder) / "html", chosen.site)


def _add_social_picture(site: Path) -> None:
    """Let links to the pages show a picture, where their address is known: the app in the light theme."""
    if address := os.environ.get("SITE_URL", ""):
        both = Image.open(ROOT / "assets" / "pages" / "explore.webp")
        both.crop((0, 0, both.width // 2, both.height)).save(site / "assets" / "social.png", optimize=True)
        card = f'<meta property="og:image" content="{address}assets/social.png">'
        for page in site.rglob("*.html"):
            if page.relative_to(site).parts[0] not in ("gallery", "try"):
                page.write_text(page.read_text().replace("</head>", f"{card}</head>", 1))


def _settings() -> dict[str, Any]:
    """Return mkdocs.yml with folders, address and the list of pages."""
    settings: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    nav: dict[str, list[Any]] = {
        part: [f"{name}.md".replace("../", "project/") for name in names] for part, names in PARTS.items()
    }
    for part, names in CATALOG.items():
        nav[part] += [f"catalog/{name}.md" for name in names]
    nav["Reference"] += catalog_pages()[1]
    handler = next(each["mkdocstrings"] for each in settings["plugins"] if "mkdocstrings" in each)["handlers"]["python"]
    handler["paths"] = [str(ROOT), str(ROOT / "app")]
    address = os.environ.get("SITE_URL", "")
    return settings | {
        "docs_dir": "docs",
        "site_dir": "html",
        "site_url": address,
        "nav": ["index.md", *({part: pages} for part, pages in nav.items())],
    }


if __name__ == "__main__":
    main()
