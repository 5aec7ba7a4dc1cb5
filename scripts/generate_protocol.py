"""Writes frontend/src/protocol.ts from app/protocol.py: the same types for the page. Run it after changing them."""

import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, is_typeddict

from app import protocol

OUT = Path(__file__).resolve().parents[1] / "frontend" / "src" / "protocol.ts"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}
HEAD = "// Written by scripts/generate_protocol.py from app/protocol.py: change that, not this.\n"


def typescript() -> str:
    """All of app/protocol.py as TypeScript."""
    named = {name: value for name, value in vars(protocol).items() if _is_type(value)}
    parts = [HEAD]
    for name, value in named.items():
        if is_typeddict(value):
            parts.append(_interface(name, value))
        else:
            parts.append(f"export type {name} = {_written(value, set())};\n")
    props = [f"  {name}: {value.__name__};" for name, value in protocol.PROPS.items()]
    parts.append("\n".join(["/** What each component is given. */", "export interface Props {", *props, "}"]) + "\n")
    return "\n".join(parts)


def _is_type(value: Any) -> bool:
    mine = is_typeddict(value) and value.__module__ == protocol.__name__
    return mine or get_origin(value) is dict or isinstance(value, types.UnionType)


def _interface(name: str, value: Any) -> str:
    lines = [f"/** {' '.join(value.__doc__.split())} */"] if value.__doc__ and "dict(" not in value.__doc__ else []
    hints = typing.get_type_hints(value, include_extras=True)
    if not hints:
        return "\n".join([*lines, f"export type {name} = Record<string, never>;"]) + "\n"
    lines.append(f"export interface {name} {{")
    for field, hint in hints.items():
        missing = field in value.__optional_keys__
        lines.append(f"  {field}{'?' if missing else ''}: {_written(hint, {name})};")
    return "\n".join([*lines, "}"]) + "\n"


def _written(hint: Any, within: set[str]) -> str:
    alias = next((name for name, value in vars(protocol).items() if _is_type(value) and value is hint), None)
    if alias is not None and within:
        return alias
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _written(arguments[0], within)
    if origin is Literal:
        return " | ".join(f'"{argument}"' for argument in arguments)
    if origin in (types.UnionType, Union):
        return " | ".join(dict.fromkeys(_written(argument, within or {"union"}) for argument in arguments))
    if origin is list:
        inner = _written(arguments[0], within or {"list"})
        return f"({inner})[]" if " " in inner and not inner.startswith(("[", "{")) else f"{inner}[]"
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return f"{_written(arguments[0], within)}[]"
        return f"[{', '.join(_written(argument, within) for argument in arguments)}]"
    if origin is dict:
        return f"Record<string, {_written(arguments[1], within or {'dict'})}>"
    return PLAIN[hint]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(OUT.read_text(encoding="utf-8") != typescript())
    OUT.write_text(typescript(), encoding="utf-8")
