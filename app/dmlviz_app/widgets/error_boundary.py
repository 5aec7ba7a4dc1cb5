"""Error boundary: where a part of a page fails, it says so there, without a traceback; the other parts stand."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dmlviz.errors import UserError
from dmlviz.storage.disk_space import disk_full_of, is_disk_full
from dmlviz_app.server.services import services
from dmlviz_app.widgets.messages import warn

FAILED = "failed (details in the log); reload the page to try again."


MAX_REPEATS = 3  # reruns in a row that are repeated, each within seconds of the last
REPEATS_WITHIN_S = 10.0
_REPEATED = "error_boundary.repeated"  # times of the repeated reruns


@contextmanager
def error_boundary(part: str) -> Iterator[None]:
    """Render the message of a UserError; log any other exception and say that `part`, as "The map", failed."""
    try:
        yield
    except Exception as error:
        if _is_of_two_reruns(error) and _repeats():
            st.rerun()
        warn(sentence_of(part, error))


def sentence_of(part: str, error: Exception) -> str:
    """Return what a person reads of an error in `part`; what is no UserError is logged."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError) and is_disk_full(error):
        return str(disk_full_of(error, services().settings.runs, services().data))
    logging.getLogger("dmlviz").error("%s failed", part, exc_info=error)
    return f"{part} {FAILED}"


def _is_of_two_reruns(error: Exception) -> bool:
    """Return whether a newer rerun of the same session has changed its state under this one."""
    text = str(error)
    is_gone = isinstance(error, KeyError) and "st.session_state has no key" in text
    return is_gone or (isinstance(error, RuntimeError) and "changed size during iteration" in text)


def _repeats() -> bool:
    """Return whether this rerun is repeated: not again and again."""
    now = time.monotonic()
    recent = [moment for moment in st.session_state.get(_REPEATED, ()) if now - moment < REPEATS_WITHIN_S]
    st.session_state[_REPEATED] = [*recent, now]
    return len(recent) < MAX_REPEATS
