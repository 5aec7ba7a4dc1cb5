"""Pages and the top bar; each link carries the state in which its page was left."""

from contextlib import nullcontext
from typing import Any

import streamlit as st

from dmlviz_app import feature
from dmlviz_app.people import policy
from dmlviz_app.people.people import Person
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary

_SLOT_KEY = "beside"


def home() -> str:
    """Return the address of the page that the server's own address shows."""
    return next(iter(feature.pages()))


def pages() -> dict[str, Any]:
    """Return all pages by address, as `st.Page`."""
    return {address: _page(address) for address in feature.pages()}


def _page(address: str) -> Any:
    page = feature.pages()[address]
    return st.Page(page.script, title=page.title, url_path=address, default=address == home())


def top_bar(pages_by_name: dict[str, Any], current: Any, person: Person) -> None:
    """Render the brand, Help, a link to each page, and a slot for the current page: see `top_bar_slot`."""
    st.session_state[_SLOT_KEY] = nullcontext()  # in the page itself, where the bar fails
    with st.container(key="pages", horizontal=True, vertical_alignment="center", gap="small"):
        brand = "brand" if current is pages_by_name[home()] else "brand without-sidebar"
        st.html(f'<span class="{brand}">dmlviz</span>', width="content")
        with error_boundary("Help"):
            mount("help", key="help", data={}, width="content")  # the keyboard comes to it before the pages
        with st.container(key="page-links", horizontal=True, gap="small", width="content"):
            for name, page in pages_by_name.items():
                if feature.pages()[name].shared_only and not person.may(policy.MEET):
                    continue
                with error_boundary(f"The link to {page.title}"):
                    # A page links to its present address, which may have changed since this bar was drawn.
                    st.page_link(page, query_params=None if page is current else query(name))
        st.session_state[_SLOT_KEY] = st.container(key="beside-pages")


def top_bar_slot() -> Any:
    """Return the container to the right of the links, for the current rerun."""
    return st.session_state[_SLOT_KEY]


def query(name: str) -> dict[str, str]:
    """Return the URL parameters of the state in which a page was left."""
    state = st.session_state.get(f"page.{name}")
    return {} if state is None else state.to_query()


def link(name: str, label: str, to: dict[str, str], **kwargs: Any) -> None:
    """Render a link to a page with the URL parameters `to`."""
    st.page_link(_page(name), label=label, query_params=to, **kwargs)


def go(name: str, to: dict[str, str]) -> None:
    """Switch to a page with the URL parameters `to`; does not return."""
    st.switch_page(_page(name), query_params=to)


def switch_to(name: str) -> None:
    """Switch to another page with its current state; does not return."""
    go(name, query(name))
