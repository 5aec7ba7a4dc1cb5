"""Command-line options generated from a config: one per field, with the field's description as help."""

import inspect
import json
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dmlviz.catalog.parameters import NONE, Catalog, flag
from dmlviz.errors import UserError

_METAVARS: dict[type, str] = {int: "N", float: "X", str: "WORD", list: "NAME=VALUE"}


def add_config_options(
    command: Callable[..., None],
    config: type[BaseModel],
    catalogs: Mapping[str, Catalog[Any]],
    panels: Mapping[str, tuple[str, ...]],
    rest: str | None = "More",
    variable: Callable[[str], str | None] = lambda name: None,
) -> Callable[..., None]:
    """Return a command for Typer with one option per config field, besides the command's own options.

    Args:
        command: Called as `command(settings, **options)`; `settings` holds the fields that were given, by name.
        config: The config whose fields become options; `json_schema_extra` may name an `option` and a `metavar`.
        catalogs: The catalog of a field's choices, by field name.
        panels: The groups of the help text: field names by title.
        rest: The group of the other fields; None for the group of the command's own options.
        variable: Returns the environment variable that a field also reads, to be named in the help text.
    """
    own_parameters = list(inspect.signature(command).parameters.values())[1:]
    panel_of = {name: panel for panel, names in panels.items() for name in names}

    def wrapper(**values: Any) -> None:
        fields = {name: value for name in config.model_fields if (value := values.pop(name)) is not None}
        command({name: _read(config.model_fields[name], name, value) for name, value in fields.items()}, **values)

    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_option(name, field, catalogs.get(name), panel_of.get(name, rest), variable(name)),
        )
        for name, field in config.model_fields.items()
    ]
    parameters = options + [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own_parameters]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    wrapper.__doc__ = command.__doc__
    return wrapper


def option_words(name: str, field: FieldInfo) -> tuple[str, str]:
    """Return the option of a field, such as "--normalize/--no-normalize", and what stands for its value."""
    kind = _kind(field.annotation)
    extra = cast(dict[str, str], field.json_schema_extra or {})
    option = extra.get("option") or (f"{flag(name)}/--no-{flag(name)[2:]}" if kind is bool else flag(name))
    return option, extra.get("metavar") or _METAVARS.get(kind, "")


def option_help(field: FieldInfo, catalog: Iterable[str] | None = None) -> str:
    """Return what the option of a field does, with its choices and its default."""
    kind, text = _kind(field.annotation), field.description or ""
    if choices := _choices(field, catalog):
        text += f": {', '.join(choices)}"
    if kind is list:
        text += "; repeatable"
    elif field.default not in (None, (), "", PydanticUndefined):
        text += f" ({('no', 'yes')[field.default] if kind is bool else field.default})"
    return text


def _choices(field: FieldInfo, catalog: Iterable[str] | None) -> list[str]:
    literal = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return [*map(str, literal if catalog is None else catalog)]


def _option(name: str, field: FieldInfo, catalog: Catalog[Any] | None, panel: str | None, variable: str | None) -> Any:
    kind = _kind(field.annotation)
    option, metavar = option_words(name, field)
    text = option_help(field, catalog) + (f"; variable {variable}" if variable else "")
    metavar = metavar if catalog is None else "NAME"
    choices = _choices(field, catalog)
    typer_option = typer.Option(
        option,
        help=text,
        metavar=metavar or None,
        show_default=False,
        rich_help_panel=panel,
        autocompletion=(lambda: choices) if choices else None,
    )
    return Annotated[(list[str] if kind is list else kind) | None, typer_option]


def _kind(annotation: Any) -> type:
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(kind for kind in get_args(annotation) if kind is not type(None))
    if get_origin(annotation) is Literal:
        return type(get_args(annotation)[0])
    if annotation == tuple[str, ...] or get_origin(annotation) is dict:
        return list
    if get_origin(annotation) is tuple:
        return str  # "7,8,9", which the config reads
    return cast(type, annotation)


def _read(field: FieldInfo, name: str, value: Any) -> Any:
    return value if get_origin(field.annotation) is tuple and isinstance(value, list) else read_option(name, value)


def read_option(name: str, value: Any) -> Any:
    """Convert a list of name=value texts to a dictionary, and the word none to None."""
    if isinstance(value, list):
        return dict(_parse_key_value(flag(name), text) for text in value)
    return None if value == NONE else value


def _parse_key_value(option: str, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UserError(f"{option} takes name=value, e.g. {option} {name or 'margin'}=0.2; got {text!r}.")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):  # no JSON, more digits than Python reads, or too deep
        return name, value
