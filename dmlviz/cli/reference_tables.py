"""Tables of the reference, made of what the program declares: commands and settings."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.export_formats import FORMATS
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.parameters import Catalog
from dmlviz.catalog.projections import PROJECTIONS
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


def command_pages() -> dict[str, str]:
    """Return a page for each command, by its path below docs/."""
    pages = {}
    for name in commands():
        command = command_named(name)
        lines = [*_command(f"dmlviz {name}", command, "#")]
        for word, subcommand in getattr(command, "commands", {}).items():
            lines += _command(f"dmlviz {name} {word}", subcommand, "##")
        pages[f"catalog/command/{name}.md"] = "\n".join(lines)
    return pages


def _commands() -> Iterator[str]:
    sentences = ((name, (command_named(name).help or "").split("\n\n")[0]) for name in commands())
    yield from table(
        ("command", "what it does"),
        ((f"[`dmlviz {name}`](catalog/command/{name}.md)", text.replace("\b", "")) for name, text in sentences),
    )


def _command(name: str, command: Any, heading: str) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    yield f"{heading} {name}\n"
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


def _formats() -> Iterator[str]:
    rows = ((f"`--format {name}`", spec.title, spec.summary) for name, spec in FORMATS.items())
    yield from table(("option", "file", "what is in it"), rows)


def _backbones() -> Iterator[str]:
    rows = (
        (f"`{name}`", f"{spec.dimensions:,}", f"{len(spec.blocks)}", f"{spec.library}'s `{spec.weights}`")
        for name, spec in BACKBONES.items()
    )
    yield from table(("backbone", "features", "blocks", "weights"), rows)


def _margin_ratio() -> Iterator[str]:
    file = Path(__file__).resolve().parents[2] / "examples" / "margin_ratio_loss.py"
    yield f"```python\n{file.read_text()}```" if file.exists() else ""  # the repository has it, a wheel does not


def _listed(catalog: Catalog[Any]) -> Callable[[], Iterator[str]]:
    rows = [(f"{spec.title} `{name}`", spec.summary) for name, spec in catalog.items()]
    return lambda: table(("name", "what it is"), rows)


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "backbones": _backbones,
    "commands": _commands,
    "formats": _formats,
    "margin_ratio": _margin_ratio,
    "projections": _listed(PROJECTIONS),
    "scores": _listed(METRICS),
    "training": _fields(TrainConfig, FIELDS),
    "projection": _fields(ProjectionConfig),
}
