"""Writes frontend/src/protocol.ts: the types of app/payloads/protocol.py for the page. Run it after a change there."""

import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin

from typing_extensions import is_typeddict

from app.payloads import protocol

OUT = Path(__file__).resolve().parents[1] / "frontend" / "src" / "protocol.ts"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}
HEAD = "// Written by scripts/generate_protocol.py from app/payloads/protocol.py: change that, not this.\n"


def typescript() -> str:
    """All of app/payloads/protocol.py as TypeScript."""
    parts = [HEAD, *(f'export const {name} = "{value}";\n' for name, value in CONSTANTS.items())]
    for name, value in NAMED.items():
        parts.append(_interface(name, value) if is_typeddict(value) else f"export type {name} = {_written(value)};\n")
    props = [f"  {name}: {value.__name__};" for name, value in protocol.PROPS.items()]
    parts.append("\n".join(["/** What each component is given. */", "export interface Props {", *props, "}"]) + "\n")
    return "\n".join(parts)


def _is_type(value: Any) -> bool:
    own = is_typeddict(value) and value.__module__ == protocol.__name__
    return own or get_origin(value) is dict or isinstance(value, types.UnionType)


CONSTANTS = {name: value for name, value in vars(protocol).items() if name.isupper() and isinstance(value, str)}
NAMED = {name: value for name, value in vars(protocol).items() if _is_type(value)}


def _interface(name: str, value: Any) -> str:
    about = [f"/** {' '.join(value.__doc__.split())} */"] if value.__doc__ else []
    hints = typing.get_type_hints(value, include_extras=True)
    if not hints:
        return "\n".join([*about, f"export type {name} = Record<string, never>;"]) + "\n"
    fields = [
        f"  {field}{'?' if field in value.__optional_keys__ else ''}: {_named(hint)};" for field, hint in hints.items()
    ]
    return "\n".join([*about, f"export interface {name} {{", *fields, "}"]) + "\n"


def _named(hint: Any) -> str:
    """A type by its name where it has one."""
    return next((name for name, value in NAMED.items() if value is hint), None) or _written(hint)


def _written(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _named(arguments[0])
    if origin is Literal:
        return " | ".join(f'"{argument}"' for argument in arguments)
    if origin in (types.UnionType, Union):
        return " | ".join(dict.fromkeys(_named(argument) for argument in arguments))
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        inner = _named(arguments[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(_named(argument) for argument in arguments)}]"
    if origin is dict:
        return f"Record<string, {_named(arguments[1])}>"
    return PLAIN[hint]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(OUT.read_text(encoding="utf-8") != typescript())
    OUT.write_text(typescript(), encoding="utf-8")
