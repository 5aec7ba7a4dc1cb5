"""Parts of a page that run again by themselves."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import streamlit as st

P = ParamSpec("P")
T = TypeVar("T")


def fragment(*, run_every: float | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator like `st.fragment`, whose function is rendered in a container of its own.

    Without one, what follows on the page can vanish until it is loaded again. When a fragment runs again before the
    browser got what it had sent within a run of the whole page, Streamlit 1.67 drops the latter. The browser misses an
    element there and moves all that follow up by one, and the fragment overwrites its neighbor. An element that is not
    the fragment's keeps the place.

    Args:
        run_every: Seconds after which it runs again; None for never.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        part = st.fragment(function, run_every=run_every)

        @wraps(function)
        def rendered(*args: P.args, **kwargs: P.kwargs) -> T:
            with st.container():
                return part(*args, **kwargs)

        return rendered

    return decorate
