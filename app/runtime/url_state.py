"""What a page's address and its session have in common: each page holds one state, and its address tells all of it.

Links between pages carry the whole address of where they lead, and the browser's Back and Forward bring it, so that an
address other than the one a page wrote last is always somebody's wish.
"""

from collections.abc import Mapping
from typing import Protocol, Self, TypeVar

import streamlit as st


class UrlState(Protocol):
    """The state of a page.

    Attributes:
        last_query: The query that it last read from the address or wrote there; None before that.
    """

    last_query: dict[str, str] | None

    def to_query(self) -> dict[str, str]:
        """Everything as the parameters of an address."""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Read an address."""


S = TypeVar("S", bound=UrlState)


def get_or_create(kind: type[S], key: str) -> S:
    """This session's state of the page that runs; made from the address at first, and when that says otherwise."""
    query = _query()
    state = peek(kind, key)
    if state is None or query not in (state.last_query, state.to_query()):
        state = st.session_state[key] = kind.from_query(query)
        state.last_query = query
    return state


def peek(kind: type[S], key: str) -> S | None:
    """The state that a page of this session was left with; None for one that was never opened."""
    state = st.session_state.get(key)
    return state if isinstance(state, kind) else None


def write_url(state: UrlState) -> None:
    """Write the state to the address, where it changed."""
    query = state.to_query()
    if query != state.last_query:
        if query != _query():
            st.query_params.from_dict(query)
        state.last_query = query


def _query() -> dict[str, str]:
    return {name: st.query_params[name] for name in st.query_params}
