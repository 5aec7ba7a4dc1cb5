"""The glossary: the words of the pages, each explained by one sentence or two. They stand in glossary.toml."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.parameters import Catalog
from dmlviz.catalog.projections import PROJECTIONS

CATALOGS: Mapping[str, Catalog[Any]] = {
    "loss": LOSSES,
    "miner": MINERS,
    "metric": METRICS,
    "projection": PROJECTIONS,
}


@dataclass(frozen=True, kw_only=True)
class Term:
    """A word and what it means.

    `words` are the ways in which a text writes it, none where it is too common a word to be explained in each text;
    `entry` is the kind and name of a catalog entry that says more.
    """

    name: str
    title: str
    group: str
    text: str
    words: tuple[str, ...] = ()
    entry: tuple[str, str] | None = None


def _read() -> dict[str, Term]:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for name in METRICS:
        rows.setdefault(name, {"group": "Scores", "spec": ["metric", name], "label_only": True})
    return {name: _term(name, fields) for name, fields in rows.items()}


def _term(name: str, fields: dict[str, Any]) -> Term:
    entry: tuple[str, str] | None = None
    title, text = fields.get("title", name.replace("-", " ").capitalize()), fields.get("text", "")
    if "spec" in fields:
        kind, of = fields["spec"]
        entry, title, text = (kind, of), CATALOGS[kind][of].title, CATALOGS[kind][of].summary
    words = () if fields.get("label_only") else (title, *fields.get("words", ()))
    return Term(name=name, title=title, group=fields["group"], text=text, words=words, entry=entry)


GLOSSARY: Mapping[str, Term] = _read()

_BY_WORD = {
    first + word[1:]: term
    for term in GLOSSARY.values()
    for word in term.words
    for first in {word[0].lower(), word[0].upper()}  # no other letter: "MAP" is not "map"
}
# What stays as it is in a text: formulas, code, links, headings, names in quotation marks, bold words. Then the words,
# longest first.
_KEPT = r"\$\$.*?\$\$|\$[^$\n]+\$|```.*?```|`[^`\n]+`|!?\[[^\]\n]*\]\([^)\n]*\)|^#.*?$|“[^”]+”|\*\*[^*\n]+\*\*"
_WORDS = "|".join(re.escape(word) for word in sorted(_BY_WORD, key=len, reverse=True))
_SEARCH = re.compile(rf"(?P<kept>{_KEPT})|(?<![\w@-])(?P<word>{_WORDS})(?![\w@-])", re.DOTALL | re.MULTILINE)


def address(name: str) -> str:
    """Return the address of a term, seen from any page. A link to it explains it: frontend/src/widgets/glossary."""
    return f"learn?topic=glossary#{GLOSSARY[name].name}"


def with_terms(markdown: str, *, without: str = "") -> str:
    """Return a text in which the first mention of each term is a link to it.

    Args:
        markdown: The text. Formulas, code, links, headings, bold words and what stands in “quotation
            marks” stay as they are.
        without: Name of a term that is not linked, since the text is about it.
    """
    names = {without}

    def link(match: re.Match[str]) -> str:
        word = match["word"]
        if word is None or (term := _BY_WORD[word]).name in names:
            return match[0]
        names.add(term.name)
        return f"[{word}]({address(term.name)})"

    return _SEARCH.sub(link, markdown)
