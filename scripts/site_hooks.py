"""What mkdocs does beside its own when it builds the documentation: files outside docs/, and the gallery."""

import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads this file from its path
from catalog_pages import catalog_pages, style_sheet
from reference_tables import generated

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = re.compile(r"\]\(\.\./((?!assets)[\w./-]+)\)")  # a link from a page of docs/
PLAYED = "digits"  # data set of the runs in the gallery: it comes with the program


def on_config(config: Any) -> Any:
    """Put the pages of the catalogs behind the reference."""
    config["nav"][-1] = {"Reference": [config["nav"][-1], *catalog_pages()[1]]}
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the picture of the README, and each file outside docs/ that a page links to, as plain text."""
    files.append(File.generated(config, "assets/playing.webp", abs_src_path=str(ROOT / "assets" / "playing.webp")))
    pages = (path.read_text() for path in (ROOT / "docs").glob("*.md"))
    for name in sorted({name for page in pages for name in OUTSIDE.findall(page)}):
        files.append(File.generated(config, f"files/{name}.txt", content=(ROOT / name).read_text()))
    for path, content in ({"catalog/catalog.css": style_sheet()} | catalog_pages()[0]).items():
        files.append(File.generated(config, path, content=content))
    for run in _played():
        files.append(File.generated(config, f"gallery/{run.id}.html", content=_page(run)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links to files outside docs/ lead to their copies; list the runs of the gallery."""
    if "/" not in page.file.src_uri:
        markdown = OUTSIDE.sub(r"](files/\1.txt)", markdown).replace("](../assets/", "](assets/")
    listed = (
        f"- [{run.title}](gallery/{run.id}.html): {run.config.steps} steps, P@1 {run.metrics['precision_at_1']:.2f}"
        for run in _played()
    )
    return generated(markdown.replace("<!-- gallery -->", "\n".join(listed)))


def _played() -> list[Any]:
    from dmlviz.runs import Runs

    with tempfile.TemporaryDirectory() as empty:
        played = (run for run in Runs(empty).list() if run.config.dataset == PLAYED)
        return sorted(played, key=lambda run: bool(run.info.get("fails")))


def _page(run: Any) -> str:
    from dmlviz.export import RunExport, write

    file = io.BytesIO()
    write("html", RunExport.from_run(run), file)
    return file.getvalue().decode()
