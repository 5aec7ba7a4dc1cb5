"""Answers to what people have asked for years: answers.md, each with TOML before it and its text in Markdown.

`symptoms` are the words in which somebody looks for it. `runs` are links that show it and its remedy: the settings of a
page as the parameters of its address, and what was measured with them.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from dmlviz.lessons import FENCE


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


def _read(text: str) -> Iterator[Answer]:
    """Yield the answers of a text, in its order: +++, the fields as TOML, +++ again, and the Markdown."""
    parts = text.split(FENCE)[1:]
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        fields = tomllib.loads(head)
        runs = tuple(AnswerRun(**run) for run in fields.pop("runs"))
        related = tuple(map(tuple, fields.pop("related", ())))
        symptoms = tuple(fields.pop("symptoms"))
        yield Answer(runs=runs, symptoms=symptoms, related=related, text=body.strip(), **fields)


_TEXT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
ANSWERS: Mapping[str, Answer] = {answer.name: answer for answer in _read(_TEXT)}
