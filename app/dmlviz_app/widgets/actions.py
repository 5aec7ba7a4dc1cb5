"""What a click or a change does: where it fails, that is said at the widget, and the page stands."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.error_boundary import sentence_of
from dmlviz_app.widgets.messages import Messages

_KEY = "messages"


def action_messages() -> Messages:
    """Return what this session's actions could not do, by the widget's key; of the page as its address has it."""
    messages = st.session_state.get(_KEY)
    if not isinstance(messages, Messages):
        messages = st.session_state[_KEY] = Messages(lambda _: url_state.page_query())
    return messages


def action(key: str, name: str, callback: Callable[..., object]) -> Callable[..., None]:
    """Return the callback of a widget: what it raises is said at `key`, until the page or the next use changes that."""

    def act(*args: Any) -> None:
        action_messages().forget(key)
        try:
            callback(*args)
        except Exception as error:
            action_messages().say(key, sentence_of(name, error))

    return act


def button(
    label: str,
    *,
    key: str,
    on_click: Callable[..., object],
    args: tuple[Any, ...] = (),
    name: str = "",
    render: Callable[..., bool] = st.button,
    **kwargs: Any,
) -> None:
    """Render a button; what its action could not do is said below it.

    Args:
        label: Its words.
        key: Streamlit's key.
        on_click: The action, called with `args` before the page is drawn anew.
        args: Its arguments.
        name: What the sentence of an unforeseen error calls the action; its words if empty.
        render: `st.form_submit_button` in a form.
        **kwargs: Of Streamlit's button.
    """
    render(label, key=key, on_click=action(key, name or label, on_click), args=args, **kwargs)
    action_messages().show(key)
