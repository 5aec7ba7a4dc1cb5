"""Answers to what people have asked for years: answers.md, each with TOML before it and its text in Markdown.

`symptoms` are the words in which somebody looks for it. `runs` are links that show it and its remedy: the settings of a
page as the parameters of its address, and what was measured with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from dmlviz.lessons import entries


@dataclass(frozen=True, kw_only=True)
class AnswerRun:
    """A run, or another page, that shows something: `measured` is what it gave with data, steps and seed named."""

    title: str
    settings: str
    measured: str
    page: str = "explore"

    @property
    def query(self) -> dict[str, str]:
        """Its settings as URL parameters."""
        return dict(parse_qsl(self.settings, keep_blank_values=True, strict_parsing=True))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer: `text` is its page in Markdown; `related` names catalog entries, lessons and labs by kind and name."""

    name: str
    title: str
    summary: str
    symptoms: tuple[str, ...]
    runs: tuple[AnswerRun, ...]
    text: str
    related: tuple[tuple[str, str], ...] = ()


def _answer(fields: dict[str, Any]) -> Answer:
    runs = tuple(AnswerRun(**run) for run in fields.pop("runs"))
    return Answer(runs=runs, symptoms=tuple(fields.pop("symptoms")), **fields)


ANSWERS: Mapping[str, Answer] = {
    answer.name: answer for answer in map(_answer, entries(Path(__file__).with_suffix(".md")))
}
