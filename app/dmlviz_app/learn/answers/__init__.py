"""Answers to what people have asked for years: one Markdown file each in this folder, with TOML front matter.

`symptoms` are the words in which somebody looks for it. `runs` are links that show it and its remedy: the settings of a
page as the parameters of its address, and what was measured with them.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from dmlviz.lessons import FENCE

FOLDER = Path(__file__).resolve().parent


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
    order: int
    symptoms: tuple[str, ...]
    runs: tuple[AnswerRun, ...]
    text: str
    related: tuple[tuple[str, str], ...] = ()


def read(path: Path) -> Answer:
    """Parse one file; raise ValueError where it is not an answer."""
    parts = path.read_text(encoding="utf-8").split(FENCE)
    if len(parts) != 3 or parts[0]:
        raise ValueError(f"{path.name} starts with +++, its settings as TOML, and +++ again")
    fields = tomllib.loads(parts[1])
    runs = tuple(AnswerRun(**run) for run in fields.pop("runs"))
    related = tuple((kind, name) for kind, name in fields.pop("related", ()))
    symptoms = tuple(fields.pop("symptoms"))
    return Answer(name=path.stem, runs=runs, related=related, symptoms=symptoms, text=parts[2].strip(), **fields)


def _all() -> dict[str, Answer]:
    answers = sorted(map(read, FOLDER.glob("*.md")), key=lambda answer: answer.order)
    return {answer.name: answer for answer in answers}


ANSWERS: Mapping[str, Answer] = _all()
