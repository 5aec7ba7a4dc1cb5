"""The address of Explore: its parameters, and those of the choices that it names."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.catalog.parameters import Parameter, Spec, brief, describe_unknown
from dmlviz.catalog.projections import PROJECTIONS, REFERENCES, Engine, declarations
from dmlviz.catalog.recipes import RECIPES
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.lessons import LESSONS, Task
from dmlviz.runs.run import LIVE
from dmlviz.storage.files import is_run_id
from dmlviz_app.forms.selection import Selection
from dmlviz_app.forms.training_settings import SETTINGS
from dmlviz_app.widgets.address import FLAG, Address, Param, Type, choice, run_type
from dmlviz_app.widgets.protocol import MethodInfo
from dmlviz_app.widgets.url_state import is_browser_key

# The contents of the drawer below the map, by title, the default first: figures, queries, all scores.
SCORES = "scores"
QUERIES = "queries"
CURVES = {
    name: FIGURES[name].title
    for name in (
        "recall_at_k",
        "roc",
        "precision_recall",
        "distance_histogram",
        "confusion_matrix",
        "scores_by_dimension",
        "training_curves",
    )
} | {QUERIES: "Queries", SCORES: "All scores"}
COMPARED_CURVES = ("recall_at_k", "roc", "precision_recall", "distance_histogram", "scores_by_dimension")
COLOR_MODES = {
    "class": "Class",
    "error": "Error",
    "faithfulness": "Faithfulness",
    "center": "Distance to class center",
    "confidence": "Confidence over the training",
    "variability": "Variability over the training",
    "forgotten": "Times forgotten",
}
COLUMN = "column."  # before the name of a column that points are colored by
PROJECTION_FIELDS = tuple(name for name in ProjectionConfig.model_fields if name not in ("method", "params", "subset"))
OURS: Engine = "dmlviz"


def is_color(name: object) -> bool:
    """Return whether points can be colored by this: a key of `COLOR_MODES`, a column, or a role of a data set alone."""
    if not isinstance(name, str):
        return False
    is_role = any(name in spec.roles for spec in DATASETS.values())
    return name in COLOR_MODES or is_role or (name.startswith(COLUMN) and len(name) <= 100)


def projection_views() -> list[str]:
    """Return the projections that a worker draws on request: all but those that a run plays by itself."""
    return [name for name, spec in PROJECTIONS.items() if not spec.native]


def projection_infos() -> dict[str, MethodInfo]:
    """Collect title and caution of every projection, by name."""
    specs = [spec for name in PROJECTIONS for spec in declarations(name)]
    return {spec.name: {"title": spec.title, "caution": spec.caution} for spec in specs}


ROLES = {"loss": "loss", "miner": "miner", "view": "map"}  # what each is called on the page; loss.margin is a parameter
_UNSET = object()
_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(TrainConfig.model_fields[name].annotation or str) for name in SETTINGS
}


def settings_from_query(task: Task) -> dict[str, str]:
    """Return a task's settings of the next training; its view waits for the run."""
    return {name: text for name, text in task.query.items() if name.partition(".")[0] != "view"}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return FLAG.write(value)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _values(kind: type) -> Type:
    """Return the type of values of one kind; a text without one is a value that the check which follows refuses."""

    def read(text: str, state: Any) -> Any:
        if kind is bool:
            return {"1": True, "0": False}.get(text, text)
        try:
            number = float(text) if kind in (int, float) else text
        except ValueError:
            return text
        return int(number) if isinstance(number, float) and kind is int and number.is_integer() else number

    return Type(read, _text, takes_empty=True)


def _setting(name: str) -> Param:
    """Return a field of the next training."""

    def read(text: str, state: Any) -> Any:
        if text == "":  # as `_text` writes None and no classes
            return () if TrainConfig.model_fields[name].default == () else None
        try:
            return _ADAPTERS[name].validate_python(text)
        except ValidationError:
            return text  # the config says what is wrong with it

    def set_value(state: Any, value: Any) -> None:
        state.settings[name] = getattr(TrainConfig(**state.settings | {name: value}), name)

    return Param(
        name,
        Type(read, _text, takes_empty=True),
        _UNSET,
        place=f"set.{name}",
        get=lambda state: state.settings.get(name, _UNSET),
        set=set_value,
    )


def _projection_field(name: str) -> Param:
    """Return a field of the projection's config."""
    return Param(
        f"map.{name}",
        _values({"engine": str, "follow": bool}.get(name, int)),
        _UNSET,
        after="view",
        get=lambda state: state.projection_overrides.get(name, _UNSET),
        set=lambda state, value: state.set_projection(**state.projection_overrides | {name: value}),
    )


def _parameters_of(role: str) -> Callable[[Any], list[Param]]:
    """Return what lists the parameters of the loss, the miner or the projection that a state has chosen."""

    def params(state: Any) -> list[Param]:
        spec = state.choices().get(role)
        return [] if spec is None else [_parameter(role, spec, parameter) for parameter in spec.parameters]

    return params


def _parameter(role: str, spec: Spec, parameter: Parameter) -> Param:
    return Param(
        f"{role}.{parameter.name}",
        _values(parameter.kind),
        _UNSET,
        place=f"map.{parameter.name}" if role == "view" else f"{role}.{spec.name}.{parameter.name}",
        get=lambda state: state.changed_params(role, spec.name).get(parameter.name, _UNSET),
        set=lambda state, value: state.set_param(role, spec, parameter, parameter.check(spec.name, value)),
    )


def _base(text: str, state: Any) -> str:
    return text if is_run_id(text) else str(_RECIPE.read(text, state))


def _task(text: str, state: Any) -> int:
    return min(int(text), len(LESSONS[state.lesson].tasks)) if re.fullmatch("[1-9]", text) else 1


def _guess(text: str, state: Any) -> int | None:
    guesses = state.active_task[1].guesses
    return int(text) if re.fullmatch("[1-9]", text) and int(text) <= len(guesses) else None


def _beside(text: str, state: Any) -> bool:
    return text == "1" and state.view in REFERENCES


def _views(state: Any) -> dict[str, str]:
    return {LIVE: LIVE} | {name: PROJECTIONS[name].title for name in projection_views()}


def _lessons(state: Any) -> dict[str, str]:
    return {name: lesson.title for name, lesson in LESSONS.items()}


def _view(text: str, state: Any) -> str:
    return text if is_run_id(text) else str(MAP.read(text, state))


def _set_view(state: Any, value: str) -> None:
    setattr(state, "map_id" if is_run_id(value) else "view", value)


_RECIPE = choice("recipe", lambda state: {name: recipe.title for name, recipe in RECIPES.items()})
MAP = choice("map", _views)

LESSON = Address(
    Param(
        "lesson", choice("lesson", lambda state: {name: one.title for name, one in LESSONS.items()}), place="run.lesson"
    ),
    Param("task", Type(_task), after="lesson", place="run.lesson"),
    Param("guess", Type(_guess), after="task", place="run.lesson"),
)
ADDRESS = Address(
    Param("run", run_type("The address names a run that cannot exist; showing the ready-made one.")),
    Param("from", Type(_base), "", field="base", place="start"),
    Param("more", FLAG, False),
    Param("view", Type(_view), LIVE, place="map.view", get=lambda state: state.view, set=_set_view),
    *map(_projection_field, PROJECTION_FIELDS),
    Param(
        "subset",
        Type(lambda text, state: Selection.decode(text), lambda subset: subset.encode),
        after="view",
        place="map.subset",
    ),
    Param("whole", MAP, LIVE, after="subset", field="whole_view", place="map.whole"),
    Param(
        "beside", Type(lambda text, state: text == "1" and state.view in REFERENCES, FLAG.write), False, after="view"
    ),
    Param("curves", choice("figure", lambda state: CURVES)),
    *map(_setting, SETTINGS),
    more=[_parameters_of(role) for role in ROLES],
)


def set_by_task(state: Any) -> dict[str, str]:
    """Return what the task under way sets, with the values of the state: a default is one that was chosen, too."""
    values = dict(state.config(TrainConfig.model_fields["dataset"].default))
    for role in ("loss", "miner"):
        values |= {f"{role}.{name}": value for name, value in values[f"{role}_params"].items()}
    return {key: _text(values[key]) for key in settings_from_query(state.active_task[1]) if key in values}


def strangers(query: Mapping[str, str], state: Any) -> Iterator[tuple[str, str]]:
    """Yield a place and a sentence for a color that does not exist, and for parameters that no choice has."""
    color, choices = query.get("color"), state.choices()
    if color and not is_color(color):
        yield "map.color", describe_unknown("color", color, COLOR_MODES)  # which the browser ignores
    for key, text in query.items():
        role, dot, name = key.partition(".")
        if not dot or role not in ROLES:
            continue
        place = f"{'map' if role == 'view' else f'set.{role}'}.{name}"
        chosen = choices.get(role)
        names = {} if chosen is None else {parameter.name: parameter.name for parameter in chosen.parameters}
        if not names:
            why = f"no {ROLES[role]} is chosen" if chosen is None else f"{chosen.title} has no parameters"
            yield place, f"{key} of the address is left out, as {why}; got {brief(text)}."
        elif name not in names:
            yield place, describe_unknown(f"parameter of {chosen.title}", name, names)


def is_unknown(key: str) -> bool:
    """Return whether the server has no such parameter of Explore's address."""
    return key not in LESSON.params | ADDRESS.params and key.partition(".")[0] not in ROLES and not is_browser_key(key)
