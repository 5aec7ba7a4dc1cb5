"""Command line options made from a config: one for each field, in its words."""

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
    """Give `command(settings, **own)` an option for each field of the config besides its own, for Typer to read.

    `settings` holds the fields that were given, as the config takes them. `catalogs` names the choices of a field and
    `panels` its group in the help.
    """
    own = list(inspect.signature(command).parameters.values())[1:]
    panel_of = {name: panel for panel, names in panels.items() for name in names}

    def called(**given: Any) -> None:
        settings = {name: given.pop(name) for name in config.model_fields}
        command({name: _read(name, value) for name, value in settings.items() if value is not None}, **given)

    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_option(name, field, catalogs.get(name), panel_of.get(name, "More")),
        )
        for name, field in config.model_fields.items()
    ]
    parameters = options + [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__doc__ = command.__doc__
    return called


def _option(name: str, field: FieldInfo, catalog: Catalog[Any] | None, panel: str) -> Any:
    kind = _kind(field.annotation)
    text = field.description or ""
    if catalog is not None:
        text += f": {', '.join(catalog)}"
    elif get_origin(field.annotation) is Literal:
        text += f": {', '.join(map(str, get_args(field.annotation)))}"
    if kind is list:
        text += "; may be given several times"
    elif field.default not in (None, ()):
        text += f" ({('no', 'yes')[field.default] if kind is bool else field.default})"
    option = typer.Option(
        f"{flag(name)}/--no-{flag(name)[2:]}" if kind is bool else flag(name),
        help=text,
        metavar=_METAVARS.get(kind) if catalog is None else "NAME",
        show_default=False,
        rich_help_panel=panel,
    )
    return Annotated[(list[str] if kind is list else kind) | None, option]  # type: ignore[valid-type]


def _kind(annotation: Any) -> type:
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(kind for kind in get_args(annotation) if kind is not type(None))
    if get_origin(annotation) is Literal:
        return type(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        return str  # "7,8,9", which the config reads
    return list if get_origin(annotation) is dict else annotation


def _read(name: str, value: Any) -> Any:
    """A list of name=value as a dictionary; the word none as None."""
    if isinstance(value, list):
        return dict(_parse_key_value(flag(name), text) for text in value)
    return None if value == NONE else value


def _parse_key_value(option: str, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UserError(f"{option} takes name=value, as in {option} margin=0.2; got {text!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
