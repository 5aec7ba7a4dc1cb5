"""The glossary as a page: all terms in groups. A link to one scrolls to it: see frontend/src/widgets/glossary."""

from html import escape

import streamlit as st

from dmlviz.catalog.glossary import GLOSSARY
from dmlviz_app.learn.catalog_index import TOPICS


def glossary() -> None:
    """Render it."""
    title, text = TOPICS["glossary"]
    st.markdown(f"### {title}\n{text} On every page, a word with a dotted line explains itself.")
    groups = dict.fromkeys(term.group for term in GLOSSARY.values())
    st.html("".join(f"<h4>{escape(group)}</h4><dl>{_terms(group)}</dl>" for group in groups))


def _terms(group: str) -> str:
    return "".join(
        f'<div id="term-{term.name}"><dt>{escape(term.title)}</dt><dd>{escape(term.text)}{_link(term.entry)}</dd></div>'
        for term in GLOSSARY.values()
        if term.group == group
    )


def _link(entry: tuple[str, str] | None) -> str:
    return "" if entry is None else f' <a href="learn?{entry[0]}={entry[1]}">More</a>'
