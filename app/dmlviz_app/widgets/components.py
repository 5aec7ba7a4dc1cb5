"""Front-end components, mounted by name.

Their sources lie in frontend/, their built files in dmlviz/_frontend, and dmlviz/pyproject.toml lists them for
Streamlit: it finds them when it starts, so that a tab left open gets its script before any page has run.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import streamlit as st

from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.actions import action, action_messages


def mount(
    name: str,
    *,
    key: str,
    data: Mapping[str, object],
    height: int | str = "content",
    width: int | str = "stretch",
    default: Mapping[str, object] | None = None,
    reruns: bool = False,
    **callbacks: Callable[[], None],
) -> Any:
    """Mount a component and return its values.

    Args:
        name: Name of the component.
        key: Streamlit's key.
        data: Its props, as `protocol.py` of its folder declares them.
        height: Height in pixels, or "content".
        width: Width in pixels, "stretch" or "content".
        default: Its values before the browser has sent any.
        reruns: Whether it may have the page drawn anew, after an answer of a route.
        **callbacks: Streamlit's `on_<value>_change`.

    Raises:
        TypeError: If `data` is not JSON: Streamlit would silently send it as one string.
    """
    json.dumps(data)
    if reruns:
        callbacks["on_rerun_change"] = lambda: None
    on_change = {event: action(key, "The last click", _noting(callback)) for event, callback in callbacks.items()}
    values = _renderer(name)(key=key, data=data, default=default, height=height, width=width, **on_change)
    action_messages().show(key)
    return values


def _noting(callback: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        url_state.note_event()
        callback()

    return call


@cache
def _renderer(name: str) -> Any:
    return st.components.v2.component(f"dmlviz.{name}", js=f"{name}-*.js")
