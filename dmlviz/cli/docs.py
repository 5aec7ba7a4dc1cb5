"""`dmlviz docs`: open the documentation that comes with the program, all pages as one file."""

import re
import webbrowser
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer
from markdown_it import MarkdownIt
from markdown_it.token import Token

from dmlviz.cli import single_command_app
from dmlviz.cli.reference_tables import generated
from dmlviz.errors import UserError
from dmlviz.storage.files import atomic_write, ensure_dir
from dmlviz.storage.paths import cache_dir

PACKAGE = Path(__file__).resolve().parents[1]
HOME = PACKAGE if (PACKAGE / "docs").is_dir() else PACKAGE.parent  # as installed, or in the repository
PARTS = {
    "Start": ("START", "QUESTIONS"),
    "How to": ("QUERIES", "TABLES", "BACKBONES", "WITHOUT_LABELS", "CLEANING", "RECORD", "PYTHON", "EXPORT"),
    "Serve": ("HOSTING", "PEOPLE", "FLEET"),
    "Understand": ("GUIDE", "SCORES", "MAPS"),
    "Reference": ("REFERENCE", "COMMANDS"),
    "Measured": ("NUMBERS", "LEARNING", "SWEEPS", "REALITY_CHECK", "FAULTS", "ACCESSIBILITY"),
    "Project": ("../CONTRIBUTING", "EXTENDING", "ARCHITECTURE", "../SECURITY", "../CHANGELOG"),
}
STYLE = """
:root { color-scheme: light dark; --line: #8884 }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif }
nav { position: fixed; inset: 0 auto 0 0; width: 15rem; overflow: auto; padding: 1rem }
nav a { display: block; padding: .1rem 0; text-decoration: none }
nav b { display: block; margin-top: .8rem }
nav input { box-sizing: border-box; width: 100%; padding: .4rem; font: inherit }
nav ol { padding: 0; list-style: none }
nav small { opacity: .7 }
main { margin-left: 17rem; max-width: 54rem; padding: 1rem 2rem }
section + section { margin-top: 4rem; border-top: 1px solid var(--line) }
main { overflow-wrap: anywhere }
pre { overflow: auto; padding: .8rem; background: #8881 }
pre code { overflow-wrap: normal }
table { display: block; overflow: auto; border-collapse: collapse }
td, th { padding: .2rem .6rem; border: 1px solid var(--line); text-align: left; vertical-align: top }
td, th { overflow-wrap: normal }
img { max-width: 100% }
img[src*="/pages/"] { width: 100%; aspect-ratio: 16 / 9; object-fit: cover; object-position: left }
@media (prefers-color-scheme: dark) { img[src*="/pages/"] { object-position: right } }
@media (max-width: 48rem) {
  nav { position: sticky; top: 0; width: auto; max-height: 80vh; padding: .5rem 1rem; background: Canvas }
  nav:not(:focus-within) > :not(input) { display: none }
  main { margin: 0; padding: 1rem }
  main [id] { scroll-margin-top: 3.5rem }
}
"""
SCRIPT = """
const field = document.querySelector("nav input"), found = document.querySelector("nav ol");
const parts = [...document.querySelectorAll("main [id]")].map((head) => {
  let text = "", at = head;
  do text += ` ${at.textContent}`; while ((at = at.nextElementSibling) && !at.id);
  const page = head.closest("section").querySelector("h1").textContent;
  return { id: head.id, title: head.textContent, page, text: text.toLowerCase() };
});
field.oninput = () => {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const named = (part) => words.filter((word) => part.title.toLowerCase().includes(word)).length;
  const hits = parts.filter((part) => words.length && words.every((word) => part.text.includes(word)));
  found.replaceChildren(...hits.sort((a, b) => named(b) - named(a)).slice(0, 20).map(({ id, title, page }) => {
    const item = document.createElement("li"), link = item.appendChild(document.createElement("a"));
    link.href = `#${id}`;
    link.append(title, " ");
    link.appendChild(document.createElement("small")).textContent = title === page ? "" : page;
    return item;
  }));
  if (words.length && !hits.length) found.append("Nothing found.");
};
found.parentElement.onclick = (event) => event.target.closest("a")?.blur();
"""
app = single_command_app()


@app.command()
def docs(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="page to open it at, such as HOSTING or PEOPLE", show_default=False)
    ] = "START",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="open it in the browser, or only say where it is")
    ] = True,
) -> None:
    """Open the documentation that comes with the program; it needs no network."""
    names = {_anchor(name): name for names in PARTS.values() for name in names}
    if (anchor := page.lower()) not in names:
        raise UserError(f"There is no page {page}; the pages are {', '.join(name.upper() for name in names)}.")
    file = ensure_dir(cache_dir()) / "docs.html"
    with atomic_write(file) as written:
        written.write(whole_page().encode())
    address = f"{file.as_uri()}#{anchor}"
    print(address)
    if browser:
        webbrowser.open(address)


def whole_page() -> str:
    """Return all pages as one, with a list of them."""
    listed = "".join(
        f"<b>{part}</b>" + "".join(f'<a href="#{_anchor(name)}">{escape(_title(name))}</a>' for name in names)
        for part, names in PARTS.items()
    )
    sections = "".join(f"<section>{_rendered(name)}</section>" for names in PARTS.values() for name in names)
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    search = '<input type="search" aria-label="Search" placeholder="Search and pages"><ol aria-live="polite"></ol>'
    navigation = f"<nav>{search}{listed}</nav>"
    script = f"<script>{SCRIPT}</script>"
    return f"{head}<title>dmlviz</title><style>{STYLE}</style>{navigation}<main>{sections}</main>{script}</html>"


def _text(name: str) -> str:
    return (HOME / "docs" / f"{name}.md").resolve().read_text(encoding="utf-8")


def _title(name: str) -> str:
    return _text(name).split("\n", 1)[0].removeprefix("# ")


def _anchor(name: str) -> str:
    return Path(name).name.lower()


def _rendered(name: str) -> str:
    markdown = MarkdownIt("commonmark").enable("table")
    text = re.sub(r"^::: (.+)$", r"    help(\1)", generated(_text(name)), flags=re.MULTILINE)
    text = re.sub(r"\)\n\n(?=    help)", ")\n", text)
    tokens = markdown.parse(text)
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            slug = re.sub(r"[^\w -]", "", content.content.lower()).replace(" ", "-")
            token.attrSet("id", _anchor(name) if token.tag == "h1" else f"{_anchor(name)}-{slug}")
    for token in tokens:
        for part in token.children or ():
            _lead(part, name)
    html: str = markdown.renderer.render(tokens, markdown.options, {})
    return html


def _lead(part: Token, name: str) -> None:
    """Let a link lead to its page within this one, and a picture to its file; others keep what they say."""
    key = "src" if part.type == "image" else "href"
    if (link := str(part.attrGet(key) or "")) and not re.match(r"[a-z]+:", link):
        path, _, heading = link.partition("#")
        file = (HOME / "docs" / name).parent / path
        if path.endswith((".webp", ".svg")):
            part.attrSet(key, file.resolve().as_uri())
        else:
            place = _anchor(path.removesuffix(".md")) if path else _anchor(name)
            if any(place == _anchor(page) for names in PARTS.values() for page in names):
                part.attrSet(key, f"#{place}-{heading}" if heading else f"#{place}")
            else:
                del part.attrs[key]
