"""The state of the interface: one typed object per session, and the address that holds all of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import streamlit as st
from pydantic import TypeAdapter, ValidationError

from app import address
from app.lessons import LESSONS, Lesson, Task
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data.declared import DATASETS, SAMPLERS
from dmlviz.declarations import Catalogue, Declaration, LossDeclaration, Parameter
from dmlviz.errors import UserError
from dmlviz.files import is_id
from dmlviz.losses.declared import LOSSES
from dmlviz.miners.declared import MINERS
from dmlviz.projection.declared import PROJECTIONS

if TYPE_CHECKING:
    from dmlviz.gallery import Metric

LIVE = "live"
SETTINGS = tuple(name for name in TrainConfig.model_fields if name not in ("loss_params", "miner_params"))
VIEWS = ("pca", "tsne", "umap")  # what the worker draws on request; plane and fan are what a run plays by itself
COLOURS = {
    "class": "Class",
    "error": "Error",
    "faithfulness": "Faithfulness",
    "centre": "Distance to class centre",
}
DRAWN = tuple(name for name in ProjectionConfig.model_fields if name not in ("method", "params"))
_OURS = ("run", "view", "pin", "colour", "metric", "step", "lesson", "task", "guess")
_ROLES = ("loss", "miner", "view")
_KEY = "ui"
_LOSS: str = TrainConfig.model_fields["loss"].default
_ANY_DATASET: str = TrainConfig.model_fields["dataset"].default
_DRAWN_DEFAULTS = {name: ProjectionConfig.model_fields[name].default for name in DRAWN}
_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(TrainConfig.model_fields[name].annotation or str) for name in SETTINGS
}


@dataclass
class UIState:
    """What a person chose: the next training's settings, the run and view that are shown, the pinned image.

    `settings` holds only what differs from the defaults, so that a loss can bring its own recommendation; `params`
    holds the parameters of losses, miners and projections, by role and name ("loss.triplet"); `run` None is the
    ready-made one; `view` is "live" or a projection's name, `before` the view that it was chosen instead of, and
    `drawn` what of its config differs from the defaults. `colour` is what points are coloured by, `metric` what the
    inspector's neighbours are nearest by, `step` where the replay was left standing, None at its end. `lesson`, with
    its `task` and the person's `guess` counted from 1, is what a teacher's link asks for. `notes` are the sentences
    about what could not be done; `other` are the parts of the address that are not ours.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    run: str | None = None
    view: str = LIVE
    before: str = LIVE
    drawn: dict[str, Any] = field(default_factory=dict)
    colour: str = "class"
    pinned: int | None = None
    metric: "Metric" = "euclidean"
    step: int | None = None
    lesson: str | None = None
    task: int = 1
    guess: int | None = None
    notes: list[str] = field(default_factory=list)
    other: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] | None = None

    def config(self, dataset: str) -> TrainConfig:
        """The training that is set; `dataset` stands in while none is chosen."""
        loss = self._loss()
        miner = self.settings.get("miner", loss.recommended.get("miner"))
        fields: dict[str, Any] = {"dataset": dataset, "loss_params": self._params("loss", loss.name)} | self.settings
        if miner is not None:
            fields["miner_params"] = self._params("miner", miner)
        return TrainConfig(**fields)

    def projection(self) -> ProjectionConfig | None:
        """The projection that is shown, None for the live view."""
        if self.view == LIVE:
            return None
        return ProjectionConfig(method=self.view, params=self._params("view", self.view), **self.drawn)

    def look(self, view: str) -> None:
        """Choose a view, to which `back` is the opposite."""
        self.before, self.view = self.view, view

    def back(self) -> None:
        """Show what was shown before this view, which cannot be drawn or is not wanted any more."""
        self.view, self.before, self.drawn = (self.before if self.before != self.view else LIVE), LIVE, {}

    def draw(self, **fields: Any) -> None:
        """Set how a view is drawn: dimensions, seed, epoch, film. Raise UserError for what cannot be."""
        ProjectionConfig(**fields)
        self.drawn = {name: value for name, value in fields.items() if value != _DRAWN_DEFAULTS[name]}

    def forget(self, view: str) -> None:
        """Take every parameter of a view back to its default."""
        self.params.pop(f"view.{view}", None)

    def choose(self, name: str, value: Any) -> None:
        """Set one field of the next training; what no longer goes with it is dropped.

        A value that does not go with the others is left out, and noted in a sentence.
        """
        self.notes.clear()
        before = dict(self.settings)
        try:
            self._set(name, value)
            self.config(_ANY_DATASET)
        except UserError as error:
            self.settings = before
            self.notes.append(str(error))

    def _set(self, name: str, value: Any) -> None:
        self.settings[name] = value
        self._drop_misfits(name)
        rest = {other: chosen for other, chosen in self.settings.items() if other != name}
        try:
            default = _LOSS if name == "loss" else getattr(replace(self, settings=rest).config(_ANY_DATASET), name)
        except UserError:  # the others make sense with this value only
            return
        # The default data set depends on what is on disk, so that a chosen one is always written down.
        if value == default and name != "dataset":
            self.settings = rest

    def adopt(self, config: TrainConfig) -> None:
        """Set up the next training as this one."""
        self.notes.clear()
        roles: dict[str, tuple[Catalogue[Any], str, dict[str, Any]]] = {
            "loss": (LOSSES, config.loss, config.loss_params)
        }
        if config.miner is not None:
            roles["miner"] = (MINERS, config.miner, config.miner_params)
        for role, (catalogue, name, values) in roles.items():
            usual = {parameter.name: parameter.default for parameter in catalogue[name].parameters}
            self.params[f"{role}.{name}"] = {key: value for key, value in values.items() if value != usual[key]}
        self.settings = {"dataset": config.dataset} | ({"loss": config.loss} if config.loss != _LOSS else {})
        recommended = self.config(config.dataset)
        for name in SETTINGS:
            if getattr(config, name) != getattr(recommended, name):
                self.settings[name] = getattr(config, name)

    def choose_param(self, role: str, choice: Declaration, parameter: Parameter, value: Any) -> None:
        """Set one parameter of a loss, miner or projection; `role` is "loss", "miner" or "view"."""
        chosen = self.params.setdefault(f"{role}.{choice.name}", {})
        chosen.pop(parameter.name, None)
        if value != parameter.default:
            chosen[parameter.name] = value
        self._drop_misfits()

    def _params(self, role: str, choice: str) -> dict[str, Any]:
        return self.params.get(f"{role}.{choice}", {})

    def _loss(self) -> LossDeclaration:
        loss = LOSSES[self.settings.get("loss", _LOSS)]
        return loss.given(self._params("loss", loss.name))

    def _drop_misfits(self, chosen: str = "") -> None:
        """Forget settings that do not go with the data or with what the loss takes; not the one just `chosen`."""
        dataset = DATASETS[self.settings.get("dataset", _ANY_DATASET)]
        takes = {"", *self._loss().accepts}
        misfits = {
            "unseen_classes": lambda labels: labels and max(labels) >= len(dataset.classes),
            "classes_per_batch": lambda classes: classes > len(dataset.classes),
            **{name: most.__lt__ for name, most in dataset.most.items()},
            "miner": lambda name: name is not None and MINERS[name].makes not in takes,
            "sampler": lambda name: SAMPLERS[name].makes not in takes,
        }
        for name, is_misfit in misfits.items():
            if name != chosen and name in self.settings and is_misfit(self.settings[name]):
                del self.settings[name]

    def _choices(self) -> dict[str, Declaration]:
        """What has the parameters that an address may give, by role."""
        loss = self._loss()
        miner = self.settings.get("miner", loss.recommended.get("miner"))
        chosen: dict[str, Declaration] = {"loss": loss}
        if miner is not None:
            chosen["miner"] = MINERS[miner]
        if self.view != LIVE:
            chosen["view"] = PROJECTIONS[self.view]
        return chosen

    @property
    def teaching(self) -> tuple[Lesson, Task] | None:
        """The lesson and the task of it that are under way."""
        if self.lesson is None:
            return None
        lesson = LESSONS[self.lesson]
        return lesson, lesson.tasks[self.task - 1]

    def teach(self, lesson: str | None, task: int = 1) -> None:
        """Begin a task: its settings in place of what was set; None ends the lesson and leaves everything else."""
        self.lesson, self.task, self.guess = lesson, task, None
        if self.teaching is not None:
            kept = {name: self.settings[name] for name in ("dataset",) if name in self.settings}
            set_up = UIState.from_query(task_settings(self.teaching[1]))
            self.settings, self.params = kept | set_up.settings, set_up.params
            self.show(None)

    def show(self, run: str | None) -> None:
        """Show another run, from its own side."""
        self.run, self.view, self.before, self.drawn, self.pinned, self.step = run, LIVE, LIVE, {}, None, None

    def to_query(self) -> dict[str, str]:
        """Everything as the parameters of an address; defaults are left out."""
        query = dict(self.other)
        if self.run is not None:
            query["run"] = self.run
        if self.view != LIVE:
            query["view"] = self.view
            query |= {f"map.{name}": _text(value) for name, value in self.drawn.items()}
        if self.colour != "class":
            query["colour"] = self.colour
        if self.pinned is not None:
            query["pin"] = str(self.pinned)
        if self.metric != "euclidean":
            query["metric"] = self.metric
        if self.step is not None:
            query["step"] = str(self.step)
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
        if state.teaching is not None:
            query = task_settings(state.teaching[1]) | dict(query)
        if "run" in query and not is_id(query["run"]):
            state.notes.append("The address names a run that cannot exist; showing the ready-made one.")
        elif "run" in query:
            state.run = query["run"]
        if query.get("view") in VIEWS:
            state.view = query["view"]
        if query.get("colour") in COLOURS:
            state.colour = query["colour"]
        if re.fullmatch("[0-9]{1,9}", query.get("pin", "")):
            state.pinned = int(query["pin"])
        if re.fullmatch("[0-9]{1,9}", query.get("step", "")):
            state.step = int(query["step"])
        if query.get("metric") == "cosine":
            state.metric = "cosine"
        for name in SETTINGS:
            if name in query:
                state._try({name: _read_setting(name, query[name])})
        for name, text in query.items():
            role, dot, parameter = name.partition(".")
            if dot and role in _ROLES:
                state._try_param(role, parameter, text)
            elif role == "map" and parameter in DRAWN:
                state._try_drawn(parameter, text)
            elif name not in SETTINGS and (name not in _OURS or (name == "lesson" and state.lesson is None)):
                state.other[name] = text
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
                    self.choose_param(role, choice, parameter, value)
                except UserError as error:
                    self.notes.append(str(error))

    def _try_drawn(self, name: str, text: str) -> None:
        value = _read(bool if name == "film" else int, text)
        try:
            self.draw(**self.drawn | {name: int(value) if isinstance(value, float) and value.is_integer() else value})
        except UserError as error:
            self.notes.append(str(error))

    def _try(self, change: dict[str, Any]) -> None:
        try:
            config = TrainConfig(**self.settings | change)
        except UserError as error:
            self.notes.append(str(error))
        else:
            self.settings |= {name: getattr(config, name) for name in change}


def task_settings(task: Task) -> dict[str, str]:
    """What a task sets of the next training; its view waits for the run."""
    return {name: text for name, text in task.query.items() if name.partition(".")[0] != "view"}


def current() -> UIState:
    """This session's state of Explore."""
    return address.current(UIState, _KEY)


def left() -> UIState:
    """The state that Explore was left with, for other pages to change or to link to."""
    known = address.held(UIState, _KEY)
    if known is None:
        known = st.session_state[_KEY] = UIState()
    return known


def publish(ui: UIState) -> None:
    """Write the state to the address, where it changed."""
    address.publish(ui)


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
