"""Write frontend/src/protocol.ts: the types of app/payloads/protocol for the page. Run it after a change there."""

import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin

from typing_extensions import is_typeddict

from app.payloads import protocol

OUT = Path(__file__).resolve().parents[1] / "frontend" / "src" / "protocol.ts"
TYPES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}
HEAD = "// Written by scripts/generate_protocol.py from app/payloads/protocol: change that, not this.\n"


def typescript() -> str:
    """All of app/payloads/protocol as TypeScript."""
    parts = [HEAD]
    for module in protocol.MODULES:
        parts.append(f"// ---- {module.__name__.rpartition('.')[2]}: {_first_line(module)}\n")
        constants = {name: value for name, value in vars(module).items() if _is_constant(name, value)}
        parts += [f'export const {name} = "{value}";\n' for name, value in constants.items()]
        parts += [_declaration(name, NAMED[name]) for name in vars(module) if HOMES.get(name) is module]
    props = [f"  {name}: {value.__name__};" for name, value in protocol.PROPS.items()]
    parts.append("\n".join(["/** What each component is given. */", "export interface Props {", *props, "}"]) + "\n")
    return "\n".join(parts)


def _is_type(value: Any, module: types.ModuleType) -> bool:
    if is_typeddict(value):
        return str(value.__module__) == module.__name__
    return get_origin(value) is dict or isinstance(value, types.UnionType)


def _is_constant(name: str, value: Any) -> bool:
    return name.isupper() and isinstance(value, str)


HOMES = {name: module for module in protocol.MODULES for name in vars(module) if _is_type(vars(module)[name], module)}
NAMED = {name: vars(module)[name] for name, module in HOMES.items()}


def _first_line(module: types.ModuleType) -> str:
    return (module.__doc__ or "").partition("\n")[0]


def _declaration(name: str, value: Any) -> str:
    return _interface(name, value) if is_typeddict(value) else f"export type {name} = {_type(value)};\n"


def _interface(name: str, value: Any) -> str:
    about = [f"/** {' '.join(value.__doc__.split())} */"] if value.__doc__ else []
    hints = typing.get_type_hints(value, include_extras=True)
    if not hints:
        return "\n".join([*about, f"export type {name} = Record<string, never>;"]) + "\n"
    optional = value.__optional_keys__
    fields = [f"  {field}{'?' if field in optional else ''}: {_type_name(hint)};" for field, hint in hints.items()]
    return "\n".join([*about, f"export interface {name} {{", *fields, "}"]) + "\n"


def _type_name(hint: Any) -> str:
    """The name of a type that has one, otherwise the type written out."""
    return next((name for name, value in NAMED.items() if value is hint), None) or _type(hint)


def _type(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _type_name(arguments[0])
    if origin is Literal:
        return " | ".join(f'"{argument}"' for argument in arguments)
    if origin in (types.UnionType, Union):
        return " | ".join(dict.fromkeys(_type_name(argument) for argument in arguments))
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        inner = _type_name(arguments[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(_type_name(argument) for argument in arguments)}]"
    if origin is dict:
        return f"Record<string, {_type_name(arguments[1])}>"
    return TYPES[hint]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(OUT.read_text(encoding="utf-8") != typescript())
    OUT.write_text(typescript(), encoding="utf-8")
