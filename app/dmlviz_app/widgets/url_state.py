"""The shared state of a page's address and its session: each page holds one state, all of which is in its address.

What a person looks at on a map is the browser's: it adds that to the addresses that are written here.

Links between pages carry the whole address of where they lead, and the browser's Back and Forward bring it, so that an
address other than the one a page wrote last is a request. One exception: a click may be on its way while the
server writes an address. It comes with the address before that one, which is then no request.
"""

from typing import NoReturn, TypeVar, get_args

import streamlit as st

from dmlviz_app.widgets.address import UrlState
from dmlviz_app.widgets.protocol import ViewKey

S = TypeVar("S", bound=UrlState)

_BROWSER_KEYS = frozenset(get_args(ViewKey.__value__))

_ADDRESSES = "address.unconfirmed"  # queries: the one that the browser sent last, then those written since
_EVENT = "address.event"  # the query that came with a component's event
_OPENED = "address.opened"  # what the browser has yet to read of the address that was opened


def get_or_create(kind: type[S], key: str) -> S:
    """Return this session's state of the page that runs; made from the address at first, and when that differs."""
    query = page_query()
    state = peek(kind, key)
    if state is None or (query not in (state.last_query, state.to_query()) and not _is_outdated(query, state)):
        whole = dict(st.query_params.items())
        st.session_state[_OPENED] = {name: text for name, text in whole.items() if is_browser_key(name)}
        state = st.session_state[key] = kind.from_query(whole)
        state.last_query = query
    return state


def peek(kind: type[S], key: str) -> S | None:
    """Return the state in which a page of this session was left; None for one that was never opened."""
    state = st.session_state.get(key)
    return state if isinstance(state, kind) else None


def write_url(state: UrlState) -> None:
    """Write the state to the address, where it changed."""
    st.session_state.pop(_EVENT, None)
    params = st.session_state.pop(_OPENED, {})
    query = state.to_query()
    if query != state.last_query:
        if query != page_query():
            st.query_params.from_dict(query | params)
            st.session_state.setdefault(_ADDRESSES, []).append(query)
        state.last_query = query


def is_browser_key(name: str) -> bool:
    """Return whether the browser writes this parameter of an address."""
    return name in _BROWSER_KEYS


def begin_rerun() -> None:
    """Note which address the browser sent. Call it before the page reads or writes one."""
    query, addresses = page_query(), st.session_state.get(_ADDRESSES, [])
    st.session_state[_ADDRESSES] = addresses[addresses.index(query) :] if query in addresses else [query]


def note_event() -> None:
    """Note that a component or a widget, not a link, causes the rerun that follows. Call it in the callback.

    A rerun that changes no state, as by opening a menu, would otherwise be taken for a link where it comes with an
    address that is outdated.
    """
    begin_rerun()
    st.session_state[_EVENT] = page_query()


def rerun() -> NoReturn:
    """Run the whole page from within a fragment; the state stays even where the browser has yet to get its address."""
    note_event()
    st.rerun()


def _is_outdated(query: dict[str, str], state: UrlState) -> bool:
    """Return whether the browser sent this address with a click or an event, before it had the one written last."""
    addresses = st.session_state.get(_ADDRESSES, [])
    is_behind = len(addresses) > 1 and query == addresses[0]
    return is_behind and (state.to_query() != state.last_query or st.session_state.get(_EVENT) == query)


def page_query() -> dict[str, str]:
    """Return the parameters of the address that are the server's; the browser adds its own to what is written here."""
    return {name: st.query_params[name] for name in st.query_params if not is_browser_key(name)}
