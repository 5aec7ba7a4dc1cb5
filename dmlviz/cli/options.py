"""Command-line options generated from a config: one per field, with the field's description as help."""

import inspect
import json
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from dmlviz.catalog.parameters import Catalog
from dmlviz.config import NONE, Config, flag
from dmlviz.errors import UserError

_METAVARS = {int: "N", float: "X", str: "WORD", list: "NAME=VALUE"}


def add_config_options(
    command: Callable[..., None],
    config: type[Config],
    catalogs: Mapping[str, Catalog[Any]],
    panels: Mapping[str, tuple[str, ...]],
) -> Callable[..., None]:
    """Return a command for Typer with one option per config field, besides the command's own options.

    Args:
        command: called as `command(settings, **options)`; `settings` holds the fields that were given, by name.
        config: the config whose fields become options.
        catalogs: the catalog of a field's choices, by field name.
        panels: the groups of the help text: field names by title.
    """
    own_parameters = list(inspect.signature(command).parameters.values())[1:]
    panel_of = {name: panel for panel, names in panels.items() for name in names}

    def wrapper(**values: Any) -> None:
        settings = {name: values.pop(name) for name in config.model_fields}
        command({name: read_option(name, value) for name, value in settings.items() if value is not None}, **values)

    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_option(name, field, catalogs.get(name), panel_of.get(name, "More")),
        )
        for name, field in config.model_fields.items()
    ]
    parameters = options + [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own_parameters]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    wrapper.__doc__ = command.__doc__
    return wrapper


def _option(name: str, field: FieldInfo, catalog: Catalog[Any] | None, panel: str) -> Any:
    kind = _kind(field.annotation)
    text = field.description or ""
    if catalog is not None:
        text += f": {', '.join(catalog)}"
    elif get_origin(field.annotation) is Literal:
        text += f": {', '.join(map(str, get_args(field.annotation)))}"
    if kind is list:
        text += "; repeatable"
    elif field.default not in (None, ()):
        text += f" ({('no', 'yes')[field.default] if kind is bool else field.default})"
    option = typer.Option(
        f"{flag(name)}/--no-{flag(name)[2:]}" if kind is bool else flag(name),
        help=text,
        metavar=_METAVARS.get(kind) if catalog is None else "NAME",
        show_default=False,
        rich_help_panel=panel,
    )
    return Annotated[(list[str] if kind is list else kind) | None, option]


def _kind(annotation: Any) -> type:
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(kind for kind in get_args(annotation) if kind is not type(None))
    if get_origin(annotation) is Literal:
        return type(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        return str  # "7,8,9", which the config reads
    return list if get_origin(annotation) is dict else annotation


def read_option(name: str, value: Any) -> Any:
    """Convert a list of name=value texts to a dictionary, and the word none to None."""
    if isinstance(value, list):
        return dict(_parse_key_value(flag(name), text) for text in value)
    return None if value == NONE else value


def _parse_key_value(option: str, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UserError(f"{option} takes name=value, e.g. {option} margin=0.2; got {text!r}.")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):  # no JSON, more digits than Python reads, or too deep
        return name, value
