"""Parameters of a loss, miner or projection as widgets, generated from their specs."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import streamlit as st

from dmlviz.catalog.losses import LossChoice
from dmlviz.catalog.parameters import Fields, FormulaParameter, Parameter, Spec, VectorParameter
from dmlviz.errors import UserError
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.labels import unique_labels
from dmlviz_app.widgets.actions import action, action_messages
from dmlviz_app.widgets.url_state import note_event

Store = Callable[[Any], None]

NUMBER_OPTION = "a number"
_ASSIGNED = "assigned"  # keys of the widgets whose values were set since the last rerun that came to its end


def bound_widget(
    widget: Callable[..., Any], label: str, key: str, value: Any, store: Store | None, **kwargs: Any
) -> Any:
    """Render a widget that always shows `value`, and pass what a person enters to `store`; what that refuses is said.

    The state is the one truth: an address, a loss's recommendation or another widget may change it. Without `store`
    the widget keeps what is entered until its form is sent.

    The browser may never hear of a run that the next one cut short. A widget that it first meets after that starts
    from its default and would hand that in as if a person had entered it, so the default is the value too; and a
    value set in a run that was cut short is set again. No other value is: it would overwrite what is typed in a form.

    No two options have the same label: the browser says by it what was chosen.
    """
    if "format_func" in kwargs:
        kwargs["format_func"] = unique_labels(kwargs["options"], kwargs["format_func"]).__getitem__
    keys = st.session_state.setdefault(_ASSIGNED, set())
    if key in keys or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
        keys.add(key)
    kwargs |= _default(widget, value, kwargs)
    if store is None:
        return widget(label, key=key, **kwargs)

    def on_change() -> None:
        note_event()
        new_value = st.session_state[key]
        if new_value is not None:  # a number that was cleared
            store(new_value)

    entered = widget(label, key=key, on_change=action(key, f"The change of {label}", on_change), **kwargs)
    action_messages().show(key)
    return entered


@contextmanager
def track_interrupted_rerun() -> Iterator[None]:
    """Context of one rerun of the page: forgets which values it set, unless it is interrupted."""
    st.session_state.setdefault(_ASSIGNED, set())
    yield
    st.session_state[_ASSIGNED] = set()  # not reached where a newer run takes over


def _default(widget: Callable[..., Any], value: Any, kwargs: Fields) -> Fields:
    match widget.__name__:
        case "selectbox":
            return {"index": None if value is None else list(kwargs["options"]).index(value)}
        case "segmented_control" | "multiselect":
            return {"default": value}
        case _:
            return {"value": value}


def parameters(ui: UIState, role: str, choice: Spec, values: Fields) -> None:
    """Render every parameter, two per row; `role` is "loss", "miner" or "view". Input takes effect at once.

    A loss within a sum takes a row, followed by the parameters of its own.
    """
    for part in choice.parameters:
        if isinstance(part, LossChoice):
            _summand(ui, role, choice, part, values[part.name])
    for column, parameter in parameter_columns([one for one in choice.parameters if not isinstance(one, LossChoice)]):
        with column:
            key, store = _key(role, choice, parameter), partial(ui.set_param, role, choice, parameter)
            _checked(ui, parameter, key, choice.name, values.get(parameter.name, parameter.default), store)
            ui.messages.show(key)


def _checked(ui: UIState, parameter: Parameter, key: str, owner: str, value: Any, store: Store) -> None:
    """Render one parameter; what is entered is checked, and a formula that cannot be read stays in its field."""
    entered = ui.messages.refused().get(key, value)
    parameter_widget(parameter, key, entered, partial(_store, ui, key, parameter, owner, value, store))


def _summand(ui: UIState, role: str, choice: Spec, parameter: LossChoice, value: Any) -> None:
    """Render the menu of losses, and the parameters of the one that is chosen."""
    key, store = _key(role, choice, parameter), partial(ui.set_param, role, choice, parameter)
    name, params = parameter.split(value)
    spec = parameter.losses[name]
    asked: Fields = {"options": list(parameter.choices), "format_func": lambda loss: parameter.losses[loss].title}
    store_loss = partial(_store, ui, key, parameter, choice.name, value, store)
    bound_widget(st.selectbox, f"Loss {parameter.name}", key, name, store_loss, **asked, help=parameter.help)
    own = spec.with_defaults(params)
    for column, part in parameter_columns(spec.parameters):
        with column:
            store_part = partial(_store_in_summand, store, parameter, choice.name, {"name": name, **own}, part.name)
            _checked(ui, part, f"{key}.{name}.{part.name}", name, own.get(part.name, part.default), store_part)
    ui.messages.show(key)


def _store_in_summand(store: Store, parameter: LossChoice, owner: str, own: Fields, name: str, value: Any) -> None:
    store(parameter.check(owner, own | {name: value}))


def form_values(ui: UIState, role: str, choice: Spec) -> None:
    """Set every parameter to the value of its widget from `form_fields`."""
    for parameter in choice.parameters:
        key = _key(role, choice, parameter)
        store = partial(ui.set_param, role, choice, parameter)
        word = st.session_state.get(f"{key}.word", NUMBER_OPTION)
        if word != NUMBER_OPTION or key in st.session_state:
            value = st.session_state[key] if word == NUMBER_OPTION else word
            _store(ui, f"map.{parameter.name}", parameter, choice.name, None, store, value)


def form_fields(role: str, choice: Spec, parameters: Sequence[Parameter], values: Fields) -> None:
    """Render parameters within a form; values take effect when it is submitted and `form_values` called."""
    for column, parameter in parameter_columns(parameters):
        with column:
            parameter_widget(
                parameter, _key(role, choice, parameter), values.get(parameter.name, parameter.default), None
            )


def parameter_columns(parameters: Sequence[Parameter]) -> list[tuple[Any, Parameter]]:
    """Pair each parameter with the column that it is rendered in: two in a row, and a formula in a row of its own."""
    wide = [(st.container(), parameter) for parameter in parameters if isinstance(parameter, FormulaParameter)]
    others = [parameter for parameter in parameters if not isinstance(parameter, FormulaParameter)]
    rows = [st.columns(2) if len(others) > 1 else [st.container()] for _ in others[::2]]  # in this order on a phone
    return [*wide, *zip(itertools.chain(*rows), others, strict=False)]


def _key(role: str, choice: Spec, parameter: Parameter) -> str:
    return f"{role}.{choice.name}.{parameter.name}"


def _store(ui: UIState, key: str, parameter: Parameter, owner: str, counts: Any, store: Store, value: Any) -> None:
    ui.messages.forget(key)
    try:
        store(parameter.check(owner, value))
    except UserError as error:
        stays = isinstance(parameter, FormulaParameter)
        until = f"{str(error).removesuffix('.')}; until it can be read, the loss is {counts}."
        ui.messages.say(key, until if stays else error, entry=value if stays else None)


def parameter_widget(parameter: Parameter, key: str, value: Any, store: Store | None) -> None:
    """Render one parameter; `store` gets what a person enters."""
    label = parameter.name.replace("_", " ").capitalize()
    if parameter.kind is bool:
        bound_widget(st.checkbox, label, key, value, store, help=parameter.help)
    elif isinstance(parameter, FormulaParameter):
        bound_widget(st.text_input, label, key, value, store, help=parameter.help)
    elif parameter.kind is str:
        bound_widget(st.selectbox, label, key, value, store, options=list(parameter.choices), help=parameter.help)
    elif isinstance(parameter, VectorParameter):
        for place, number in enumerate(value):
            part = None if store is None else partial(_store_component, store, value, place)
            _number(parameter.each, f"{label} {place + 1}", f"{key}.{place}", number, part)
    elif parameter.special_values:
        _number_or_special(parameter, label, key, value, store)
    else:
        _number(parameter, label, key, value, store)


def _store_component(store: Store, value: list[float], place: int, component: float) -> None:
    store([*value[:place], component, *value[place + 1 :]])


def _number_or_special(parameter: Parameter, label: str, key: str, value: Any, store: Store | None) -> None:
    """Render a select for special values first, then a field for the number."""
    number = parameter.minimum or 0 if isinstance(parameter.default, str) else parameter.default

    store_special = None if store is None else lambda word: store(word if word in parameter.special_values else number)

    option = value if isinstance(value, str) else NUMBER_OPTION
    options = [NUMBER_OPTION, *parameter.special_values]
    bound_widget(st.selectbox, label, f"{key}.word", option, store_special, options=options, help=parameter.help)
    if store is None or not isinstance(value, str):  # a form is not drawn anew when a word is picked in it
        _number(parameter, f"{label} value", key, number if isinstance(value, str) else value, store)


def _number(parameter: Parameter, label: str, key: str, value: Any, store: Store | None) -> None:
    kind = parameter.kind
    bound_widget(
        st.number_input,
        label,
        key,
        kind(value),
        store,
        min_value=None if parameter.minimum is None else kind(parameter.minimum),
        max_value=None if parameter.maximum is None else kind(parameter.maximum),
        step=kind(parameter.step) if parameter.step else None,
        format="%g" if kind is float else None,
        help=parameter.help,
    )
