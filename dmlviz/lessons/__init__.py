"""Lessons: the entries of lessons.md, each with TOML before its text; together a course in three parts.

A task sets up Explore (`settings`, URL parameters), asks for a guess, trains, and then shows what the run measured
(`measurements`: keys that `evaluate` gives; `active`: fraction of active terms at the end; `map.` + metric: its value
on the map) and why (`reveal`). `follow_up` names the settings that remain available afterwards; all others are hidden.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pydantic import TypeAdapter, ValidationError

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import parse_literal
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig, TrainConfig

FOLDER = Path(__file__).resolve().parent
PARTS = ("Distances and losses", "Reading results", "Practice")
"""The parts of the course, in order."""
MEASURED = ("digits", "mnist")
"""The data sets on which the answers were measured, by scripts/measure_lessons.py."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One prediction: `answer` is the index of the right guess; with `view_before_guess` the map is shown first.

    `usual_guess` is for the teacher: a common expectation, no statistic.
    """

    title: str
    settings: str
    question: str
    guesses: tuple[str, ...]
    answer: int
    usual_guess: str
    measurements: tuple[str, ...]
    reveal: str
    follow_up: tuple[str, ...] = ()
    instructions: str = ""
    view_before_guess: bool = False

    @property
    def query(self) -> dict[str, str]:
        """Its settings as URL parameters."""
        return dict(parse_qsl(self.settings, keep_blank_values=True, strict_parsing=True))

    def training(self, dataset: str) -> TrainConfig:
        """Return the training that it asks for; `loss.margin` is a parameter of the loss, as in an address."""
        fields: dict[str, Any] = {"dataset": dataset}
        for name, text in self.query.items():
            role, dot, parameter = name.partition(".")
            if role in ("loss", "miner") and dot:
                fields.setdefault(f"{role}_params", {})[parameter] = parse_literal(text)
            elif role != "view":
                fields[name] = _field(name, text)
        return TrainConfig(**fields)

    def explanation(self, dataset: str) -> str:
        """Return why the answer is right; and of a data set on which it was not measured, that its run may differ."""
        if dataset in MEASURED:
            return self.reveal
        measured = " and ".join(DATASETS[name].title for name in MEASURED)
        return f"{self.reveal} That was measured on {measured}; the numbers of {DATASETS[dataset].title} may differ."

    def projection(self) -> ProjectionConfig | None:
        """Return the projection that it is about; None for the run's own view."""
        method = self.query.get("view")
        if method is None:
            return None
        kinds = {f"view.{parameter.name}": parameter for parameter in PROJECTIONS[method].parameters}
        params = {kinds[name].name: kinds[name].kind(text) for name, text in self.query.items() if name in kinds}
        return ProjectionConfig(method=method, params=params)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The part of a lesson for the teacher: its goal, and an exam question with its answer."""

    goal: str
    exam: str
    exam_answer: str


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson: `text` is its page in Markdown; `related` names catalog entries by kind and name.

    `part` is one of `PARTS`.
    """

    name: str
    title: str
    summary: str
    part: str
    minutes: int
    tasks: tuple[Task, ...]
    sheet: Sheet
    text: str
    related: tuple[tuple[str, str], ...] = ()


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a file, in its order: +++, fields as TOML, +++ again, and Markdown, which is `text`."""
    parts = path.read_text(encoding="utf-8").split("+++\n")[1:]
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        fields = tomllib.loads(head)
        yield fields | {"text": body.strip(), "related": tuple(map(tuple, fields.get("related", ())))}


def _lesson(fields: dict[str, Any]) -> Lesson:
    tasks = tuple(Task(**{name: _to_tuple(value) for name, value in task.items()}) for task in fields.pop("tasks"))
    return Lesson(tasks=tasks, sheet=Sheet(**fields.pop("sheet")), **fields)


def _field(name: str, text: str) -> Any:
    try:
        return TypeAdapter(TrainConfig.model_fields[name].annotation or str).validate_python(text)
    except ValidationError:
        return text  # the config reads it, or says what is wrong


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


LESSONS: Mapping[str, Lesson] = {lesson.name: lesson for lesson in map(_lesson, entries(FOLDER / "lessons.md"))}
