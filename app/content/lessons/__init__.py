"""The lessons: one Markdown file each in this folder, with what the app needs to know of it on top, as TOML.

A task sets Explore up (`set`, an address), asks for a guess, trains, and then tells what the run really gave
(`reads`: metrics, `active` for the share of active terms at the end, `map.` before a metric for what it is on the map)
and why (`reveal`). `open` names the settings that stay in reach afterwards; all others are hidden.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

FOLDER = Path(__file__).resolve().parent
FENCE = "+++\n"


@dataclass(frozen=True, kw_only=True)
class Task:
    """One prediction: `right` counts the guesses from 0; with `look_first` the guess is asked when the map is there."""

    title: str
    settings: str
    question: str
    guesses: tuple[str, ...]
    answer: int
    measurements: tuple[str, ...]
    reveal: str
    follow_up: tuple[str, ...] = ()
    instructions: str = ""
    view_before_guess: bool = False

    @property
    def query(self) -> dict[str, str]:
        """What it sets, as the parameters of an address."""
        return dict(parse_qsl(self.settings, keep_blank_values=True, strict_parsing=True))


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson; `text` is its page, in Markdown; `see` names what to read with it, by kind and name."""

    name: str
    title: str
    summary: str
    order: int
    minutes: int
    tasks: tuple[Task, ...]
    text: str
    related: tuple[tuple[str, str], ...] = ()


def read(path: Path) -> Lesson:
    """Read one file; raise ValueError where it is no lesson."""
    parts = path.read_text(encoding="utf-8").split(FENCE)
    if len(parts) != 3 or parts[0]:
        raise ValueError(f"{path.name} starts with +++, its settings as TOML, and +++ again")
    told = tomllib.loads(parts[1])
    tasks = tuple(Task(**{name: _frozen(value) for name, value in task.items()}) for task in told.pop("tasks"))
    for task in tasks:
        if not 0 <= task.answer < len(task.guesses):
            raise ValueError(f"{path.name}: {task.title!r} has no guess number {task.answer}")
    see = tuple(tuple(place) for place in told.pop("related", ()))
    return Lesson(name=path.stem, tasks=tasks, text=parts[2].strip(), related=see, **told)


@cache
def _all() -> dict[str, Lesson]:
    found = sorted(map(read, FOLDER.glob("*.md")), key=lambda lesson: lesson.order)
    return {lesson.name: lesson for lesson in found}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


LESSONS: Mapping[str, Lesson] = _all()
