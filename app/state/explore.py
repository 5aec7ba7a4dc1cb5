"""The state of the interface: one typed object per session, and the address that holds all of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st
from pydantic import TypeAdapter, ValidationError

from app.content.lessons import LESSONS, Lesson, Task
from app.runtime import url_state
from app.state.selection import Selection
from app.state.training_form import SETTINGS, TrainingDraft
from dmlviz.catalog.parameters import Spec
from dmlviz.catalog.projection_engines import Engine, declaration
from dmlviz.catalog.projections import PROJECTIONS, ProjectionSpec
from dmlviz.catalog.reference_projections import REFERENCES
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError
from dmlviz.runs.run import LIVE
from dmlviz.storage.files import is_run_id

if TYPE_CHECKING:
    from dmlviz.ops.gallery import Metric

# What the drawer below the map shows, first what it opens with.
CURVES = ("recall_at_k", "roc", "distance_histogram", "confusion_matrix", "training_curves")
COLOR_MODES = {
    "class": "Class",
    "error": "Error",
    "faithfulness": "Faithfulness",
    "center": "Distance to class center",
}
PROJECTION_FIELDS = tuple(name for name in ProjectionConfig.model_fields if name not in ("method", "params"))
OURS: Engine = "dmlviz"
_RESERVED_QUERY_KEYS = ("run", "view", "pin", "select", "color", "metric", "step", "curves", "lesson", "task", "guess")
_ROLES = ("loss", "miner", "view")
_KEY = "ui"
_DRAWN_DEFAULTS = {name: ProjectionConfig.model_fields[name].default for name in PROJECTION_FIELDS}
_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(TrainConfig.model_fields[name].annotation or str) for name in SETTINGS
}


@dataclass
class UIState(TrainingDraft):
    """What a person chose: the next training's settings, the run and view that are shown, what is pinned and selected.

    `run` None is the ready-made one; `view` is "live" or a projection's name, `before` the view that it was chosen
    instead of, and `drawn` what of its config differs from the defaults. `color` is what points are colored by,
    `metric` what the inspector's neighbors are nearest by, `step` where the replay was left standing, None at its end;
    `curves` is the figure in the drawer of that name, None while it is closed.
    `lesson`, with its `task` and the person's `guess` counted from 1, is what a teacher's link asks for; `other` are
    the parts of the address that are not ours.
    """

    run: str | None = None
    view: str = LIVE
    previous_view: str = LIVE
    projection_overrides: dict[str, Any] = field(default_factory=dict)
    color: str = "class"
    pinned: int | None = None
    selected: Selection | None = None
    metric: "Metric" = "euclidean"
    step: int | None = None
    curves: str | None = None
    lesson: str | None = None
    task: int = 1
    guess: int | None = None
    unknown_query: dict[str, str] = field(default_factory=dict)
    last_query: dict[str, str] | None = None

    def projection(self) -> ProjectionConfig | None:
        """The projection that is shown, None for the live view."""
        if self.view == LIVE:
            return None
        params = self._params("view", self._declared(self.projection_overrides.get("engine", OURS)).name)
        return ProjectionConfig(method=self.view, params=params, **self.projection_overrides)

    def params_with(self, engine: Engine) -> dict[str, Any]:
        """The parameters that the shown method has, or would have, when this engine draws it."""
        declared = self._declared(engine)
        return declared.with_defaults(self._params("view", declared.name))

    def _declared(self, engine: Engine) -> ProjectionSpec:
        return declaration(self.view, engine)

    def set_view(self, view: str) -> None:
        """Choose a view, to which `restore_view` is the opposite."""
        self.previous_view, self.view = self.view, view
        if view not in REFERENCES:
            self.projection_overrides.pop("engine", None)

    def restore_view(self) -> None:
        """Show what was shown before this view, which cannot be drawn or is not wanted any more."""
        self.view, self.previous_view, self.projection_overrides = (
            (self.previous_view if self.previous_view != self.view else LIVE),
            LIVE,
            {},
        )

    def set_projection(self, **fields: Any) -> None:
        """Set engine, dimensions, seed and epochs of a projection; raise UserError where they do not go together."""
        ProjectionConfig(**({} if self.view == LIVE else {"method": self.view}) | fields)
        self.projection_overrides = {name: value for name, value in fields.items() if value != _DRAWN_DEFAULTS[name]}

    def drop_projection(self, view: str) -> None:
        """Take every parameter of a view back to its default, whoever draws it."""
        for declared in (PROJECTIONS.get(view), REFERENCES.get(view)):
            if declared is not None:
                self.params.pop(f"view.{declared.name}", None)

    def _choices(self) -> dict[str, Spec]:
        """What has parameters, by role: the shown projection too."""
        shown = {} if self.view == LIVE else {"view": self._declared(self.projection_overrides.get("engine", OURS))}
        return super()._choices() | shown

    @property
    def active_task(self) -> tuple[Lesson, Task] | None:
        """The lesson and the task of it that are under way."""
        if self.lesson is None:
            return None
        lesson = LESSONS[self.lesson]
        return lesson, lesson.tasks[self.task - 1]

    def start_task(self, lesson: str | None, task: int = 1) -> None:
        """Begin a task: its settings in place of what was set; None ends the lesson and leaves everything else."""
        self.lesson, self.task, self.guess = lesson, task, None
        if self.active_task is not None:
            kept = {name: self.settings[name] for name in ("dataset",) if name in self.settings}
            set_up = UIState.from_query(settings_from_query(self.active_task[1]))
            self.settings, self.params = kept | set_up.settings, set_up.params
            self.show(None)

    def show(self, run: str | None) -> None:
        """Show another run, from its own side."""
        self.run, self.view, self.previous_view, self.projection_overrides, self.pinned, self.step = (
            run,
            LIVE,
            LIVE,
            {},
            None,
            None,
        )

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters, without defaults."""
        query = dict(self.unknown_query)
        if self.run is not None:
            query["run"] = self.run
        if self.view != LIVE:
            query["view"] = self.view
            query |= {f"map.{name}": _text(value) for name, value in self.projection_overrides.items()}
        if self.color != "class":
            query["color"] = self.color
        if self.pinned is not None:
            query["pin"] = str(self.pinned)
        if self.selected is not None:
            query["select"] = self.selected.encode
        if self.metric != "euclidean":
            query["metric"] = self.metric
        if self.step is not None:
            query["step"] = str(self.step)
        if self.curves is not None:
            query["curves"] = self.curves
        if self.lesson is not None:
            query |= {"lesson": self.lesson, "task": str(self.task)}
            query |= {} if self.guess is None else {"guess": str(self.guess)}
        query |= {name: _text(self.settings[name]) for name in SETTINGS if name in self.settings}
        for role, choice in self._choices().items():
            chosen = self._params(role, choice.name)
            query |= {f"{role}.{name}": _text(value) for name, value in chosen.items()}
        return query

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "UIState":
        """Read an address, and note in a sentence each what cannot be followed."""
        state = cls()
        state._read_lesson(query)
        if state.active_task is not None:
            query = settings_from_query(state.active_task[1]) | dict(query)
        if "run" in query and not is_run_id(query["run"]):
            state.messages.append("The address names a run that cannot exist; showing the ready-made one.")
        elif "run" in query:
            state.run = query["run"]
        if query.get("view") in projection_views():
            state.view = query["view"]
        if query.get("color") in COLOR_MODES:
            state.color = query["color"]
        if re.fullmatch("[0-9]{1,9}", query.get("pin", "")):
            state.pinned = int(query["pin"])
        if "select" in query:
            state.selected = Selection.decode(query["select"])
        if re.fullmatch("[0-9]{1,9}", query.get("step", "")):
            state.step = int(query["step"])
        if query.get("curves") in CURVES:
            state.curves = query["curves"]
        if query.get("metric") == "cosine":
            state.metric = "cosine"
        for name in SETTINGS:
            if name in query:
                state._try({name: _read_setting(name, query[name])})
        if "map.engine" in query:  # first: which parameters there are depends on it
            query = {"map.engine": query["map.engine"]} | dict(query)
        for name, text in query.items():
            role, dot, parameter = name.partition(".")
            if dot and role in _ROLES:
                state._try_param(role, parameter, text)
            elif role == "map" and parameter in PROJECTION_FIELDS:
                state._try_drawn(parameter, text)
            elif name not in SETTINGS and (
                name not in _RESERVED_QUERY_KEYS or (name == "lesson" and state.lesson is None)
            ):
                state.unknown_query[name] = text
        return state

    def _read_lesson(self, query: Mapping[str, str]) -> None:
        lesson = LESSONS.get(query.get("lesson", ""))
        if lesson is None:
            return
        self.lesson = lesson.name
        if re.fullmatch("[1-9]", query.get("task", "")):
            self.task = min(int(query["task"]), len(lesson.tasks))
        if re.fullmatch("[1-9]", query.get("guess", "")) and int(query["guess"]) <= len(
            lesson.tasks[self.task - 1].guesses
        ):
            self.guess = int(query["guess"])

    def _try_param(self, role: str, name: str, text: str) -> None:
        choice = self._choices().get(role)
        for parameter in choice.parameters if choice is not None else ():
            if choice is not None and parameter.name == name:
                try:
                    value = parameter.check(choice.name, _read(parameter.kind, text))
                    self.set_param(role, choice, parameter, value)
                except UserError as error:
                    self.messages.append(str(error))

    def _try_drawn(self, name: str, text: str) -> None:
        value = text if name == "engine" else _read(bool if name == "all_epochs" else int, text)
        try:
            self.set_projection(
                **self.projection_overrides
                | {name: int(value) if isinstance(value, float) and value.is_integer() else value}
            )
        except UserError as error:
            self.messages.append(str(error))

    def _try(self, change: dict[str, Any]) -> None:
        try:
            config = TrainConfig(**self.settings | change)
        except UserError as error:
            self.messages.append(str(error))
        else:
            self.settings |= {name: getattr(config, name) for name in change}


def projection_views() -> list[str]:
    """Return the projections that a worker draws on request: all but those that a run plays by itself."""
    return [name for name, declared in PROJECTIONS.items() if not declared.native]


def settings_from_query(task: Task) -> dict[str, str]:
    """What a task sets of the next training; its view waits for the run."""
    return {name: text for name, text in task.query.items() if name.partition(".")[0] != "view"}


def current() -> UIState:
    """This session's state of Explore."""
    return url_state.get_or_create(UIState, _KEY)


def saved_state() -> UIState:
    """The state that Explore was left with, for other pages to change or to link to."""
    known = url_state.peek(UIState, _KEY)
    if known is None:
        known = st.session_state[_KEY] = UIState()
    return known


def publish(ui: UIState) -> None:
    """Write the state to the address, where it changed."""
    url_state.write_url(ui)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _read_setting(name: str, text: str) -> Any:
    if text == "":
        return None
    try:
        return _ADAPTERS[name].validate_python(text)
    except ValidationError:
        return text  # the config says what is wrong with it


def _read(kind: type, text: str) -> Any:
    if kind is bool:
        return {"1": True, "0": False}.get(text, text)
    if kind in (int, float):
        try:
            return float(text)
        except ValueError:
            return text
    return text
