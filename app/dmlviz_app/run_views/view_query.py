"""The state of Explore as the parameters of a URL, both ways."""

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from dmlviz.catalog.parameters import brief, describe_unknown
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.catalog.recipes import RECIPES
from dmlviz.catalog.reference_projections import REFERENCES
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.lessons import LESSONS, Task
from dmlviz.runs.run import LIVE
from dmlviz.storage.files import is_run_id
from dmlviz_app.run_views.seen_view import SeenView
from dmlviz_app.run_views.selection import Selection
from dmlviz_app.run_views.training_settings import FURTHER, SETTINGS
from dmlviz_app.run_views.view_options import COLOR_MODES, CURVES, PROJECTION_FIELDS, is_color, projection_views
from dmlviz_app.widgets.url_state import is_browser_key

if TYPE_CHECKING:
    from dmlviz_app.run_views.view_state import UIState

_RESERVED_KEYS = ("run", "from", "more", "view", "subset", "whole", "beside", "curves", "lesson", "task", "guess")
_ROLES = {"loss": "loss", "miner": "miner", "view": "map"}  # what each is called on the page
_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(TrainConfig.model_fields[name].annotation or str) for name in SETTINGS
}


def encode(state: "UIState") -> dict[str, str]:
    """Encode the state as URL parameters, without defaults."""
    query = dict(state.unknown_query)
    if state.run is not None:
        query["run"] = state.run
    query |= {"from": state.base} if state.base else {}
    query |= {"more": "1"} if state.more else {}
    if state.view != LIVE:
        query["view"] = state.view
        query |= {f"map.{name}": _text(value) for name, value in state.projection_overrides.items()}
        query |= {} if state.subset is None else {"subset": state.subset.encode}
        query |= {} if state.subset is None or state.whole_view == LIVE else {"whole": state.whole_view}
    if state.beside:
        query["beside"] = "1"
    if state.curves is not None:
        query["curves"] = state.curves
    if state.lesson is not None:
        query |= {"lesson": state.lesson, "task": str(state.task)}
        query |= {} if state.guess is None else {"guess": str(state.guess)}
    query |= {name: _text(state.settings[name]) for name in SETTINGS if name in state.settings}
    for role, choice in state.choices().items():
        query |= {f"{role}.{name}": _text(value) for name, value in state.changed_params(role, choice.name).items()}
    return query


def decode(query: Mapping[str, str], state: "UIState") -> None:
    """Set a new state as a URL's parameters say; what cannot be followed becomes a message."""
    _read_lesson(query, state)
    if state.active_task is not None:
        query = settings_from_query(state.active_task[1]) | dict(query)
    _read_view(query, state)
    _read_base(query, state)
    settings = {name: _read_setting(name, query[name]) for name in SETTINGS if name in query}
    refusals = [name for name, value in settings.items() if _refusal(state, name, value)]
    # Some values go only with one that comes later: few training images need small batches.
    for name in refusals:
        if refusal := _refusal(state, name, settings[name]):
            by_itself = _refusal(type(state)(), name, settings[name])  # not for another setting
            own = partial(lambda field: state.settings.get(field), name)
            state.messages.say(f"set.{name}", refusal, own if by_itself else None)
            state.more |= name in FURTHER
    if "map.engine" in query:  # first: which parameters there are depends on it
        query = {"map.engine": query["map.engine"]} | dict(query)
    for name, text in query.items():
        role, dot, parameter = name.partition(".")
        is_reserved = name in SETTINGS or name in _RESERVED_KEYS or is_browser_key(name)
        if dot and role in _ROLES:
            _try_param(state, role, parameter, text)
        elif role == "map" and parameter in PROJECTION_FIELDS:
            _try_projection_field(state, parameter, text)
        elif not is_reserved or (name == "lesson" and state.lesson is None):
            state.unknown_query[name] = text


def settings_from_query(task: Task) -> dict[str, str]:
    """Return a task's settings of the next training; its view waits for the run."""
    return {name: text for name, text in task.query.items() if name.partition(".")[0] != "view"}


def _read_lesson(query: Mapping[str, str], state: "UIState") -> None:
    lesson = LESSONS.get(query.get("lesson", ""))
    if lesson is None:
        _note_unknown(
            state, "run.lesson", "lesson", "lesson", query, {name: one.title for name, one in LESSONS.items()}
        )
        return
    state.lesson = lesson.name
    if re.fullmatch("[1-9]", query.get("task", "")):
        state.task = min(int(query["task"]), len(lesson.tasks))
    guesses = lesson.tasks[state.task - 1].guesses
    if re.fullmatch("[1-9]", query.get("guess", "")) and int(query["guess"]) <= len(guesses):
        state.guess = int(query["guess"])


def _read_view(query: Mapping[str, str], state: "UIState") -> None:
    if "run" in query and not is_run_id(query["run"]):
        state.messages.say("run", "The address names a run that cannot exist; showing the ready-made one.")
    elif "run" in query:
        state.run = query["run"]
    if query.get("view") in projection_views():
        state.view = query["view"]
        state.beside = query.get("beside") == "1" and state.view in REFERENCES
        state.subset = Selection.decode(query.get("subset", ""))
        if state.subset is not None and query.get("whole") in projection_views():
            state.whole_view = query["whole"]
    elif query.get("view") != LIVE:
        views = {name: PROJECTIONS[name].title for name in projection_views()}
        _note_unknown(state, "map.view", "view", "map", query, views)
    if not is_color(query.get("color")):
        _note_unknown(state, "map.color", "color", "color", query, COLOR_MODES)
    state.seen = SeenView.from_query(query)
    if query.get("curves") in CURVES:
        state.curves = query["curves"]
    else:
        _note_unknown(state, "curves", "curves", "figure", query, CURVES)


def _read_base(query: Mapping[str, str], state: "UIState") -> None:
    state.more = query.get("more") == "1"
    if query.get("from") in RECIPES or is_run_id(query.get("from")):
        state.base = query["from"]
    else:
        _note_unknown(state, "start", "from", "recipe", query, {name: recipe.title for name, recipe in RECIPES.items()})


def _note_unknown(
    state: "UIState", place: str, key: str, noun: str, query: Mapping[str, str], titles: Mapping[str, str]
) -> None:
    """Say at a place that the address names something that does not exist, if it does."""
    if query.get(key):
        state.messages.say(place, describe_unknown(noun, query[key], titles))


def _refusal(state: "UIState", name: str, value: Any) -> str | None:
    """Set a field of the next training; return why where it does not go with what is set so far."""
    try:
        config = TrainConfig(**state.settings | {name: value})
    except UserError as error:
        return str(error)
    state.settings[name] = getattr(config, name)
    return None


def _try_param(state: "UIState", role: str, name: str, text: str) -> None:
    choice = state.choices().get(role)
    parameters = {} if choice is None else {parameter.name: parameter for parameter in choice.parameters}
    of_all = "map" if role == "view" else f"set.{role}"
    if choice is None or not parameters:
        chosen = f"no {_ROLES[role]} is chosen" if choice is None else f"{choice.title} has no parameters"
        state.messages.say(
            f"{of_all}.{name}", f"{role}.{name} of the address is left out, as {chosen}; got {brief(text)}."
        )
    elif name not in parameters:
        unknown = describe_unknown(f"parameter of {choice.title}", name, {name: name for name in parameters})
        state.messages.say(f"{of_all}.{name}", unknown)
    else:
        try:
            value = parameters[name].check(choice.name, _parse(parameters[name].kind, text))
            state.set_param(role, choice, parameters[name], value)
        except UserError as error:
            state.messages.say(f"map.{name}" if role == "view" else f"{role}.{choice.name}.{name}", error)


def _try_projection_field(state: "UIState", name: str, text: str) -> None:
    value = text if name == "engine" else _parse(bool if name == "all_epochs" else int, text)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        state.set_projection(**state.projection_overrides | {name: value})
    except UserError as error:
        state.messages.say(f"map.{name}", error)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _read_setting(name: str, text: str) -> Any:
    if text == "":  # as `_text` writes None and no classes
        return () if TrainConfig.model_fields[name].default == () else None
    try:
        return _ADAPTERS[name].validate_python(text)
    except ValidationError:
        return text  # the config says what is wrong with it


def _parse(kind: type, text: str) -> Any:
    """Return the value of a text, or the text itself if it has none: the check that follows reports the error."""
    if kind is bool:
        return {"1": True, "0": False}.get(text, text)
    if kind in (int, float):
        try:
            return float(text)
        except ValueError:
            return text
    return text
