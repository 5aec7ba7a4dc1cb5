"""The state of the interface: one typed object per session, and the address that holds all of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from pydantic import TypeAdapter, ValidationError

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.declarations import Declaration, Parameter
from dmlviz.errors import UserError
from dmlviz.files import is_id
from dmlviz.losses.declared import LOSSES
from dmlviz.miners.declared import MINERS
from dmlviz.projection.declared import PROJECTIONS

LIVE = "live"
SETTINGS = tuple(name for name in TrainConfig.model_fields if name not in ("loss_params", "miner_params"))
_OURS = ("run", "view", "pin")
_KEY = "ui"
_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(TrainConfig.model_fields[name].annotation or str) for name in SETTINGS
}


@dataclass
class UIState:
    """What a person chose: the next training's settings, the run and view that are shown, the pinned image.

    `settings` holds only what differs from the defaults, so that a loss can bring its own recommendation;
    `params` holds the parameters of losses, miners and projections by their name; `run` None is the ready-made
    one; `view` is "live" or a projection's name. `notes` are the sentences about parts of an address that
    could not be followed; `other` are the parts of the address that are not ours.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    run: str | None = None
    view: str = LIVE
    pinned: int | None = None
    notes: list[str] = field(default_factory=list)
    other: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] | None = None

    def config(self, dataset: str) -> TrainConfig:
        """The training that is set; `dataset` stands in while none is chosen."""
        fields: dict[str, Any] = {"dataset": dataset} | self.settings
        loss = fields.get("loss", TrainConfig.model_fields["loss"].default)
        miner = fields.get("miner", LOSSES[loss].given(self.params.get(loss, {})).recommended.get("miner"))
        for name, choice in (("loss_params", loss), ("miner_params", miner)):
            if choice in self.params:
                fields[name] = self.params[choice]
        return TrainConfig(**fields)

    def projection(self) -> ProjectionConfig | None:
        """The projection that is shown, None for the live view."""
        if self.view == LIVE:
            return None
        fields: dict[str, Any] = {"method": self.view, "params": self.params.get(self.view, {})}
        return ProjectionConfig(**fields)

    def choose(self, name: str, value: Any) -> None:
        """Set one field of the next training; what no longer goes with it is dropped."""
        self.settings.pop(name, None)
        if name == "loss":
            default = TrainConfig.model_fields["loss"].default
            if not _goes_with(self.settings.get("miner"), value, self.params.get(value, {})):
                del self.settings["miner"]
        else:
            default = getattr(TrainConfig(**self.settings), name)
        # The default data set depends on what is on disk, so that a chosen one is always written down.
        if value != default or name == "dataset":
            self.settings[name] = value

    def choose_param(self, choice: Declaration, parameter: Parameter, value: Any) -> None:
        """Set one parameter of a loss, miner or projection."""
        chosen = self.params.setdefault(choice.name, {})
        chosen.pop(parameter.name, None)
        if value != parameter.default:
            chosen[parameter.name] = value
        if not chosen:
            del self.params[choice.name]
        current = self.settings.get("loss", TrainConfig.model_fields["loss"].default)
        if choice.name == current and not _goes_with(self.settings.get("miner"), choice.name, chosen):
            del self.settings["miner"]

    def show(self, run: str | None) -> None:
        """Show another run, from its own side."""
        self.run, self.view, self.pinned = run, LIVE, None

    def to_query(self) -> dict[str, str]:
        """Everything as the parameters of an address; defaults are left out."""
        query = dict(self.other)
        if self.run is not None:
            query["run"] = self.run
        if self.view != LIVE:
            query["view"] = self.view
        if self.pinned is not None:
            query["pin"] = str(self.pinned)
        query |= {name: _text(self.settings[name]) for name in SETTINGS if name in self.settings}
        for choice, chosen in self.params.items():
            query |= {f"{choice}.{name}": _text(value) for name, value in chosen.items()}
        return query

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "UIState":
        """Read an address, and note in a sentence each what cannot be followed."""
        state = cls()
        for name, text in query.items():
            if name not in _OURS and name not in SETTINGS and _parameter(name) is None:
                state.other[name] = text
        if "run" in query:
            if is_id(query["run"]):
                state.run = query["run"]
            else:
                state.notes.append("The address names a run that cannot exist; showing the ready-made one.")
        if query.get("view") in PROJECTIONS:
            state.view = query["view"]
        if query.get("pin", "").isdigit():
            state.pinned = int(query["pin"])
        for name in SETTINGS:
            if name in query:
                state._try({name: _read_setting(name, query[name])})
        for name, text in query.items():
            found = _parameter(name)
            if found is not None:
                choice, parameter = found
                try:
                    state.choose_param(choice, parameter, parameter.check(choice.name, _read(parameter.kind, text)))
                except UserError as error:
                    state.notes.append(str(error))
        return state

    def _try(self, change: dict[str, Any]) -> None:
        try:
            TrainConfig(**self.settings | change)
        except UserError as error:
            self.notes.append(str(error))
        else:
            self.settings |= change


def current() -> UIState:
    """This session's state; made from the address at first, and again when the address was changed by hand."""
    query = {name: st.query_params[name] for name in st.query_params}
    known = st.session_state.get(_KEY)
    if not isinstance(known, UIState) or (known.written is not None and query != known.written):
        known = st.session_state[_KEY] = UIState.from_query(query)
    return known


def publish(ui: UIState) -> None:
    """Write the state to the address, where it changed."""
    query = ui.to_query()
    if query != ui.written:
        if query != {name: st.query_params[name] for name in st.query_params}:
            st.query_params.from_dict(query)
        ui.written = query


def _goes_with(miner: str | None, loss: str, params: Mapping[str, Any]) -> bool:
    return miner is None or MINERS[miner].makes in LOSSES[loss].given(params).accepts


def _parameter(name: str) -> tuple[Declaration, Parameter] | None:
    choice, dot, parameter = name.partition(".")
    if not dot:
        return None
    for catalogue in (LOSSES, MINERS, PROJECTIONS):
        if choice in catalogue:
            declared: Declaration = catalogue[choice]
            for known in declared.parameters:
                if known.name == parameter:
                    return declared, known
    return None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


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
