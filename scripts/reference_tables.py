"""Tables of the reference, made of what the program declares: commands and settings."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from dmlviz.cli.main import command_named
from dmlviz.cli.options import option_help
from dmlviz.cli.train import CATALOGS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.config.fields import FIELDS, SettingField
from dmlviz.parts import commands

MARK = re.compile(r"<!-- generated: (\w+) -->")


def generated(markdown: str) -> str:
    """Return the page with each table in the place of its mark, `<!-- generated: NAME -->`."""
    return MARK.sub(lambda found: "\n".join(TABLES[found[1]]()), markdown)


def _commands() -> Iterator[str]:
    for name in commands():
        command = command_named(name)
        yield from _command(f"dmlviz {name}", command)
        for word, subcommand in getattr(command, "commands", {}).items():
            yield from _command(f"dmlviz {name} {word}", subcommand)


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    yield f"### {name}\n"
    yield f"`{' '.join([name, *(each.metavar or each.name.upper() for each in arguments)])}`\n"
    yield (command.help or "").replace("\b", "")
    words = (f"{', '.join([*each.opts, *each.secondary_opts])} {each.metavar or ''}".strip() for each in options)
    rows = [(f"`{word}`", each.help or "") for word, each in zip(words, options, strict=True)]
    yield from table(("option", "what it does"), rows) if rows else ()


def _fields(config: Any, fields: Mapping[str, SettingField] = MappingProxyType({})) -> Callable[[], Iterator[str]]:
    def lines() -> Iterator[str]:
        heads = ("field", *["title"] * bool(fields), "type", "what it is (default)")
        rows = (
            (
                f"`{name}`",
                *([fields[name].title] if fields else []),
                f"`{_type(field.annotation)}`",
                option_help(field, CATALOGS.get(name)),
            )
            for name, field in config.model_fields.items()
        )
        yield from table(heads, rows)

    return lines


def _type(annotation: Any) -> str:
    return re.sub(r"\b(?:\w+\.)+", "", annotation.__name__ if isinstance(annotation, type) else str(annotation))


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    heads = [*heads]
    yield from ("", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads))
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in row)} |"
    yield ""


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "commands": _commands,
    "training": _fields(TrainConfig, FIELDS),
    "projection": _fields(ProjectionConfig),
}
