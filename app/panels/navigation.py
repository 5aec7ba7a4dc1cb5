"""Pages and the top bar; each link carries the state in which its page was left."""

from pathlib import Path
from typing import Any

import streamlit as st

from app.runtime import url_state
from app.runtime.people import Person
from app.state.classroom import KEY as CLASSROOM_KEY
from app.state.classroom import ClassroomState
from app.state.clean import KEY as CLEAN_KEY
from app.state.clean import CleanState
from app.state.compare import CompareState
from app.state.explore import UIState
from app.state.labs import KEY as LABS_KEY
from app.state.labs import LabsState
from app.state.learn import KEY as LEARN_KEY
from app.state.learn import LearnState
from app.state.run_list import RunListState

# Not in a folder called pages: where one lies beside the entry, Streamlit runs its files without the entry.
PAGES_DIR = Path(__file__).resolve().parents[1] / "screens"
# name of the page's file and key of its state -> title, state
PAGES: dict[str, tuple[str, str, type[Any]]] = {
    "explore": ("Explore", "ui", UIState),
    "compare": ("Compare", "compare", CompareState),
    "labs": ("Labs", LABS_KEY, LabsState),
    "runs": ("Runs", "shelf", RunListState),
    "clean": ("Clean", CLEAN_KEY, CleanState),
    "learn": ("Learn", LEARN_KEY, LearnState),
    "classroom": ("Class", CLASSROOM_KEY, ClassroomState),
}
HOME = "explore"
SHARED_ONLY = ("classroom",)  # pages that a server for one person does not link to
_SLOT_KEY = "beside"


def pages() -> dict[str, Any]:
    """All pages by name, as `st.Page`."""
    return {
        name: st.Page(PAGES_DIR / f"{name}.py", title=title, default=name == HOME)
        for name, (title, _, _) in PAGES.items()
    }


def top_bar(pages_by_name: dict[str, Any], current: Any, person: Person) -> None:
    """Render the brand, a link to each page, and a slot for the current page: see `top_bar_slot`."""
    with st.container(key="pages", horizontal=True, vertical_alignment="center", gap="small"):
        brand = "brand" if current is pages_by_name[HOME] else "brand without-sidebar"
        st.html(f'<span class="{brand}">dmlviz</span>', width="content")
        for name, page in pages_by_name.items():
            if person.alone and name in SHARED_ONLY:
                continue
            # To itself a page leads as it stands, whatever a part of it has changed since this bar was drawn.
            st.page_link(page, query_params=None if page is current else query(name))
        st.session_state[_SLOT_KEY] = st.container(key="beside-pages")


def top_bar_slot() -> Any:
    """Container to the right of the links, for the current rerun."""
    return st.session_state[_SLOT_KEY]


def query(name: str) -> dict[str, str]:
    """URL parameters of the state in which a page was left."""
    _, key, kind = PAGES[name]
    state = url_state.peek(kind, key)
    return {} if state is None else state.to_query()


def link(name: str, label: str, to: dict[str, str], **kwargs: Any) -> None:
    """Render a link to a page with the URL parameters `to`."""
    st.page_link(f"{PAGES_DIR.name}/{name}.py", label=label, query_params=to, **kwargs)


def switch_to(name: str) -> None:
    """Switch to another page with its current state; does not return."""
    st.switch_page(pages()[name], query_params=query(name))
