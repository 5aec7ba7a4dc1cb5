"""What a part of the program brings: kinds of background work, commands, pages of a site.

A feature of the app brings these among other things (`dmlviz_app.feature`); the library without the app has `PARTS`.
Nothing here is loaded before it is used: functions are named as "module:function".
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

APP = "dmlviz_app.feature"
Form = Literal["job", "answer", "question"]


def lazy(function: str) -> Callable[..., Any]:
    """Return a function that calls "module:function", and imports it then."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        module, _, name = function.partition(":")
        return getattr(import_module(module), name)(*arguments, **keywords)

    return call


@dataclass(frozen=True)
class Kind:
    """A kind of background work.

    Attributes:
        work: The function that a worker calls, as "module:function".
        form: "job": it gets a `dmlviz.jobs.job_record.Work`, and writes progress and result into its order's folder.
            "answer": it gets a `dmlviz.workers.answers.Target`, whose file it writes, and the arguments of its order,
            and returns the name by which a person keeps the file. "question": it gets the folder of the data
            sets and the fields of the question, and returns the answer; the process stays for the next one.
    """

    work: str
    form: Form = "job"


@dataclass(frozen=True)
class Command:
    """A command, `dmlviz NAME`.

    Attributes:
        name: Its name.
        summary: A sentence for `dmlviz --help`.
        module: The module whose `app` is the command, a `typer.Typer`.
    """

    name: str
    summary: str
    module: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a part of the library brings; the fields are those of `dmlviz_app.feature.Feature` that need no app."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    commands: Sequence[Command] = ()
    site: Callable[..., object] | None = None


def _part(name: str, site: Callable[..., object] | None = None) -> Part:
    """Return what parts.toml lists for a part."""
    table = _TABLES[name]
    work = {kind: Kind(function, form) for form in get_args(Form) for kind, function in table.get(form, {}).items()}
    summaries = table.get("commands", {}).items()
    commands = [Command(name, summary, f"dmlviz.cli.{name.replace('-', '_')}") for name, summary in summaries]
    return Part(kinds=work, commands=commands, site=site)


_TABLES = tomllib.loads(Path(__file__).with_name("parts.toml").read_text(encoding="utf-8"))
CORE, BATCHES, CLEAN = _part("core"), _part("batches"), _part("clean")
LEARN = _part("learn", lazy("dmlviz.export.lesson_page:add_lessons"))
LABS = _part("labs", lazy("dmlviz.export.lab_page:add_labs"))
PARTS = (CORE, BATCHES, LEARN, LABS, CLEAN)
# Functions that display runs and trainings; higher packages have them, and `dmlviz/__init__.py` registers them.
DISPLAYS: dict[str, Callable[..., Any]] = {}  # "figure": a figure of a run; "map": a map in a notebook
PLUGGED: list[Any] = []  # features of plug-ins: `dmlviz_app.feature.FEATURES.add` puts them here


def parts() -> Sequence[Part]:
    """Return the features of the app, those of plug-ins included; where there is no app, the parts of the library."""
    try:
        features: Sequence[Part] = import_module(APP).FEATURES  # each has all that a part has
    except ModuleNotFoundError as error:
        if error.name not in (APP, APP.partition(".")[0]):
            raise
        return PARTS
    return features


def kinds(form: Form | None = None) -> dict[str, Kind]:
    """Return all kinds of background work by name; with `form`, those of this form."""
    named = {name: kind for part in parts() for name, kind in part.kinds.items()}
    return {name: kind for name, kind in named.items() if form in (None, kind.form)}


def commands() -> dict[str, Command]:
    """Return all commands by name."""
    return {command.name: command for part in parts() for command in part.commands}
