"""Code of each catalog entry, as on a slide: read from the files of `code`, which only tests and a worker import.

Tests run each example against the library's own function, and the line that uses the library, too.
"""

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dmlviz.catalog.losses import LOSSES

PACKAGE = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).with_name("code")
FILES = {
    "loss": "losses",
    "miner": "miners",
    "sampler": "samplers",
    "net": "nets",
    "metric": "metrics",
    "projection": "projections",
}


@dataclass(frozen=True)
class Example:
    """An example: its complete `code`, of which `start` is the first line of the entry itself, from 1 on.

    about: what its arguments are.
    use: the lines that do the same with dmlviz.
    source, line: where the library's own code is, as a path in the repository and a line from 1 on.
    """

    code: str
    start: int
    about: str
    use: str
    source: str
    line: int


def example(kind: str, name: str) -> Example:
    """Return the example of a catalog entry; raise KeyError where there is none."""
    code, start, about = _code(kind, name)
    return Example(code, start, about, _use(kind, name), *_source(kind, name))


@cache
def _declared() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "entries.toml").read_text(encoding="utf-8"))


def declared(kind: str, name: str) -> dict[str, Any]:
    """Return what `code/entries.toml` says of an entry; mostly nothing."""
    entry: dict[str, Any] = _declared().get(kind, {}).get(name, {})
    return entry


def loop(kind: str, name: str) -> str:
    """Return a whole training with an entry, to be run as it is; empty where there is none."""
    file = declared(kind, name).get("loop")
    return (FOLDER / "loops" / f"{file}.py").read_text(encoding="utf-8") if file else ""


@cache
def _module(kind: str) -> tuple[list[str], ast.Module]:
    text = (FOLDER / f"{FILES[kind]}.py").read_text(encoding="utf-8")
    return text.splitlines(), ast.parse(text)


def _code(kind: str, name: str) -> tuple[str, int, str]:
    """Return a definition with all that it needs, the line it begins at, and what its arguments are."""
    lines, module = _module(kind)
    definitions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    needed, todo = {name}, [name]
    used: set[str] = set()
    while todo:
        nodes = [*ast.walk(definitions[todo.pop()])]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        names -= {node.arg for node in nodes if isinstance(node, ast.arg)}
        names -= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        used |= names
        todo += sorted(new := names & definitions.keys() - needed)
        needed |= new
    imports = []
    for statement in module.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            kept = [one for one in statement.names if (one.asname or one.name).partition(".")[0] in used]
            if kept:
                imports.append(ast.unparse(_import_of(statement, kept)))
    parts = ["\n".join(imports)] if imports else []
    start = 1
    for other, node in definitions.items():
        if other in needed:
            if other == name:
                start = sum(part.count("\n") + 3 for part in parts) + 1
            parts.append("\n".join(lines[node.lineno - 1 : node.end_lineno]))
    return "\n\n\n".join(parts) + "\n", start, (ast.get_docstring(module) or "").partition(": ")[2]


def _import_of(statement: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    """Return an import of these names alone."""
    if isinstance(statement, ast.Import):
        return ast.Import(names)
    return ast.ImportFrom(statement.module, names, statement.level)


_FOLDERS = {"loss": "losses", "miner": "miners", "sampler": "training", "net": "nets", "projection": "projection"}


def _source(kind: str, name: str) -> tuple[str, int]:
    """Return the file that implements an entry, and its line: of a decorator with its name, or of a definition."""
    if kind == "metric":
        source = declared(kind, name).get("source") or declared(kind, "retrieval")["source"]
        module, definition = source.split()
        files, pattern = [PACKAGE / "metrics" / f"{module}.py"], rf"^(def|class) {definition}\b"
    else:
        files, pattern = (
            sorted((PACKAGE / _FOLDERS[kind]).glob("*.py")),
            rf'^@(register_loss|implements|registry\.register)\("{name}"\)$',
        )
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if re.match(pattern, line, re.IGNORECASE):
                return file.resolve().relative_to(PACKAGE.parent).as_posix(), number
    raise KeyError(name)


_CLASSES = ", embedding_dim=x.shape[1], num_classes=10"


def _use(kind: str, name: str) -> str:
    """Return the lines that do the same with dmlviz."""
    entry = declared(kind, name)
    more = entry.get("more", _CLASSES if kind == "loss" and LOSSES[name].needs_classes else "")
    lines: str = _declared()["uses"][entry.get("use", kind)]
    return lines.format(name=entry.get("name", name), more=more)
