"""Lessons: one Markdown file each in this folder, with TOML front matter; together a course in three parts.

A task sets up Explore (`settings`, URL parameters), asks for a guess, trains, and then shows what the run measured
(`measurements`: keys that `evaluate` gives; `active`: fraction of active terms at the end; `map.` + metric: its value
on the map) and why (`reveal`). `follow_up` names the settings that remain available afterwards; all others are hidden.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pydantic import TypeAdapter, ValidationError

from dmlviz.catalog.parameters import parse_literal
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig, TrainConfig

FOLDER = Path(__file__).resolve().parent
FENCE = "+++\n"
PARTS = ("Distances and losses", "Reading results", "Practice")
"""The parts of the course, in order."""


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

    `part` is one of `PARTS`, `order` its place within the part.
    """

    name: str
    title: str
    summary: str
    part: str
    order: int
    minutes: int
    tasks: tuple[Task, ...]
    sheet: Sheet
    text: str
    related: tuple[tuple[str, str], ...] = ()


def front_matter(path: Path) -> dict[str, Any]:
    """Return the fields of a file: its TOML and, as `text`, the Markdown after it; `related` as tuples.

    Raises:
        ValueError: If it has no front matter.
    """
    parts = path.read_text(encoding="utf-8").split(FENCE)
    if len(parts) != 3 or parts[0]:
        raise ValueError(f"{path.name} starts with +++, its settings as TOML, and +++ again")
    fields = tomllib.loads(parts[1])
    related = tuple(map(tuple, fields.get("related", ())))
    return fields | {"name": path.stem, "text": parts[2].strip(), "related": related}


def read(path: Path) -> Lesson:
    """Parse one file; raise ValueError where it is not a lesson."""
    fields = front_matter(path)
    tasks = tuple(Task(**{name: _to_tuple(value) for name, value in task.items()}) for task in fields.pop("tasks"))
    for task in tasks:
        if not 0 <= task.answer < len(task.guesses):
            raise ValueError(f"{path.name}: {task.title!r} has no guess number {task.answer}")
    if fields["part"] not in PARTS:
        raise ValueError(f"{path.name}: the part of a lesson is one of {', '.join(PARTS)}; got {fields['part']!r}")
    return Lesson(tasks=tasks, sheet=Sheet(**fields.pop("sheet")), **fields)


@cache
def _all() -> dict[str, Lesson]:
    lessons = sorted(map(read, FOLDER.glob("*.md")), key=lambda lesson: (PARTS.index(lesson.part), lesson.order))
    return {lesson.name: lesson for lesson in lessons}


def _field(name: str, text: str) -> Any:
    try:
        return TypeAdapter(TrainConfig.model_fields[name].annotation or str).validate_python(text)
    except ValidationError:
        return text  # the config reads it, or says what is wrong


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


LESSONS: Mapping[str, Lesson] = _all()
