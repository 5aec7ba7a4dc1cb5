"""Index of the Learn page, with a search over all catalog entries."""

import streamlit as st

from dmlviz.lessons import LESSONS
from dmlviz_app.learn.catalog_index import KINDS, LAB_KIND, TOPICS, by_family, search, search_topics
from dmlviz_app.learn.state import LearnState
from dmlviz_app.run_views.parameters import bound_widget
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.markdown import escape_markdown


def index(ui: LearnState) -> None:
    """Render the index."""

    def on_search(text: str) -> None:
        ui.search, ui.note = text.strip()[:80], ""

    if ui.note:
        st.caption(f":orange[{escape_markdown(ui.note)}]")

    bound_widget(
        st.text_input,
        "Search",
        "learn.search",
        ui.search,
        on_search,
        placeholder="Search losses, miners, metrics, labs, authors …",
        label_visibility="collapsed",
        width=420,
    )
    if ui.search:
        _results(ui.search)
        return
    left, right = st.columns([5, 3], gap="large")
    with left:
        st.markdown("#### Lessons")
        for lesson in LESSONS.values():
            _line("lesson", lesson.name, lesson.title, f"{lesson.summary} {lesson.minutes} minutes.")
    with right:
        st.markdown("#### Interactive")
        for name, (title, summary) in TOPICS.items():
            _line("topic", name, title, summary)
    for kind in KINDS.values():
        st.markdown(f"#### {kind.title}")
        families = by_family(list(kind.catalog.values()))
        columns = st.columns(max(len(families), 3)) if len(families) > 1 else [st.container(horizontal=True)]
        for column, (family, entries) in zip(columns, families.items(), strict=False):
            with column, st.container(gap="medium" if len(families) == 1 else None, horizontal=len(families) == 1):
                if family:
                    st.caption(family.capitalize())
                for entry in entries:
                    _link(kind.name, entry.name, entry.title)


def _results(text: str) -> None:
    count = 0
    for kind in (*KINDS.values(), LAB_KIND):
        for entry in search(kind, text):
            count += 1
            _line(kind.name, entry.name, f"{entry.title} · {kind.noun.lower()}", entry.summary)
    for name, title, summary in search_topics(text):
        count += 1
        _line("topic", name, title, summary)
    if not count:
        st.caption(f"No results for “{text}”.")


def _line(kind: str, name: str, title: str, summary: str) -> None:
    with st.container(gap=None):
        _link(kind, name, title)
        st.caption(summary)


def _link(kind: str, name: str, title: str) -> None:
    navigation.link("labs" if kind == LAB_KIND.name else "learn", title, {kind: name})
