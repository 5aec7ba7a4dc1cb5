"""Index of the Learn page: the course, answers and labs, then the catalog as a reference; with a search over all."""

from collections.abc import Iterator

import streamlit as st

from dmlviz.catalog.glossary import GLOSSARY
from dmlviz.catalog.parameters import Spec
from dmlviz.lessons import LESSONS, PARTS
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.learn.answers import ANSWERS
from dmlviz_app.learn.cards import Form, card, section, show
from dmlviz_app.learn.catalog_index import KINDS, TOPICS, by_family, has_words, page_kinds, search, symptom_share
from dmlviz_app.learn.state import LearnState
from dmlviz_app.widgets.messages import escape_markdown
from dmlviz_app.widgets.protocol import Card, CardSection


def index(ui: LearnState) -> None:
    """Render it, or the results of its search."""

    def on_search(text: str) -> None:
        ui.search = text.strip()[:80]

    bound_widget(
        st.text_input,
        "Search",
        "learn.search",
        ui.search,
        on_search,
        placeholder="Search by name, author, or what you see: all in one point …",
        label_visibility="collapsed",
        width=520,
    )
    entries = list(results(ui.search)) if ui.search else []
    if ui.search and not entries:
        st.caption(f"No results for “{escape_markdown(ui.search)}”.")
    show([section(entries, "large")] if ui.search else sections(), key="index")


def sections() -> Iterator[CardSection]:
    """Yield the whole index: what is read in order, then what is looked up."""
    for part in PARTS:
        lessons = [lesson for lesson in LESSONS.values() if lesson.part == part]
        cards = [card("lesson", lesson.name, note=f"{lesson.minutes} minutes") for lesson in lessons]
        if cards:
            yield section(cards, "large", f"Course: {part.lower()}")
    yield section((card("answer", name) for name in ANSWERS), "large", "Answers: what you may see, why, and the remedy")
    yield section((card("topic", name) for name in TOPICS), "large", "Try, ask, look up")
    for kind in page_kinds().values():
        yield section((card(kind.name, name) for name in kind.catalog), "small", kind.title)
    for kind in KINDS.values():
        families = by_family(list(kind.catalog.values()))
        for number, (family, entries) in enumerate(families.items()):
            cards = [card(kind.name, entry.name) for entry in entries]
            form: Form = "small" if any(one["picture"] for one in cards) else "words"
            if not number:
                yield section([] if family else cards, form, kind.title, kind.note)
            if family:
                yield section(cards, form, family.capitalize(), heading=4)


def results(text: str) -> Iterator[Card]:
    """Yield what a search finds: answers first, the one that fits best on top."""
    shares = {name: symptom_share(answer, text) for name, answer in ANSWERS.items()}
    for name in sorted(shares, key=lambda name: -shares[name]):
        if shares[name]:
            yield card("answer", name, note="Answer")
    for lesson in LESSONS.values():
        if has_words(f"{lesson.title} {lesson.summary}", text):
            yield card("lesson", lesson.name, note=f"Lesson · {lesson.minutes} minutes")
    for kind in (*KINDS.values(), *page_kinds().values()):
        entries: list[Spec] = search(kind, text)
        yield from (card(kind.name, entry.name, note=kind.noun) for entry in entries)
    for name, (title, summary) in TOPICS.items():
        if has_words(f"{title} {summary}", text):
            yield card("topic", name)
    for term in GLOSSARY.values():
        if term.entry is None and has_words(" ".join((term.title, *term.words)), text):
            address = f"learn?topic=glossary#{term.name}"
            yield Card(address=address, title=term.title, text=term.text, note="Glossary", picture="")
