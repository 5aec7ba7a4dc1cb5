"""Exam questions of lectures on metric learning: question, answer, drawings of where one sees it happen."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz_app.learn.cards import card, section, show
from dmlviz_app.widgets.protocol import Card

Places = tuple[tuple[str, str], ...]
TEXT = """
### Exam questions
Answer each for yourself before you open it: draw, and write the formula. The drawings lead to where it happens.
"""
READABLE = 900  # pixels
CASES = Card(
    address="learn?topic=forces",
    title="Hard, semi-hard, easy",
    text="The triplet loss over the distance of the negative, for a fixed positive.",
    note="",
    picture="topic-cases",
)


@dataclass(frozen=True, kw_only=True)
class ExamQuestion:
    """A question, its answer in Markdown, and drawings: kind and name of what they show and lead to."""

    question: str
    answer: str
    drawings: Places


def _read() -> tuple[ExamQuestion, ...]:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["questions"]
    return tuple(ExamQuestion(**row | {"drawings": tuple(map(tuple, row["drawings"]))}) for row in rows)


QUESTIONS = _read()


def exam() -> None:
    """Render the questions as cards."""
    st.markdown(TEXT)
    for number, question in enumerate(QUESTIONS, 1):
        with st.expander(f"**{number}.** {question.question}", width=READABLE):
            st.markdown(with_terms(question.answer))
            cards = [CASES if place == ("topic", "cases") else card(*place) for place in question.drawings]
            show([section(cards, "small")], key=f"exam.{number}")
