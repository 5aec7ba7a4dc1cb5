"""The state of the map in the browser, as far as the server knows it.

The browser owns that and keeps it in the address (frontend/src/workbench/store.ts, urlCodec.ts). The server reads it
when a page is opened, hears a snapshot where it shows something of it, and asks for changes by commands.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import streamlit as st

from dmlviz_app.forms.selection import Selection
from dmlviz_app.widgets.protocol import ViewCommand

_COMMAND = "view.command"


@dataclass(frozen=True)
class SeenView:
    """The part of the view that a page's Python needs.

    Attributes:
        pinned: Index of the pinned test image.
        step: Step at which the replay was paused; None at its end.
        selected: The selected test images.
    """

    pinned: int | None = None
    step: int | None = None
    selected: Selection | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Read the parameters of an address or of a snapshot; what cannot be followed is left out."""
        pinned, step = (
            int(query[name]) if re.fullmatch("[0-9]{1,9}", query.get(name, "")) else None for name in ("pin", "step")
        )
        return cls(pinned, step, Selection.decode(query.get("select", "")))

    def to_query(self) -> dict[str, str]:
        """Return it as parameters of an address."""
        fields = {"pin": self.pinned, "step": self.step, "select": self.selected and self.selected.encode}
        return {name: str(value) for name, value in fields.items() if value is not None}


def command(page: str) -> ViewCommand | None:
    """Return the newest change that a page's browser was asked for."""
    newest: ViewCommand | None = st.session_state.get(f"{_COMMAND}.{page}")
    return newest


def ask(page: str, query: dict[str, str]) -> None:
    """Ask a page's browser for a change: parameters of an address; an empty `select` selects nothing."""
    number = time.time_ns() // 1000  # a new session may follow an old one in the same page
    st.session_state[f"{_COMMAND}.{page}"] = {"number": number, "query": query}
