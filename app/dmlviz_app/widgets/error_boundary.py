"""Error boundary: where a part of a page fails, it says so there, without a traceback; the other parts stand."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dmlviz.errors import UserError
from dmlviz.storage.disk_space import disk_full_of, is_disk_full
from dmlviz_app.server.services import services
from dmlviz_app.widgets.markdown import escape_markdown

FAILED = "failed (details in the log); reload the page to try again."


MAX_REPEATS = 3  # reruns in a row that are repeated, each within seconds of the last
REPEATS_WITHIN_S = 10.0
_REPEATED = "error_boundary.repeated"  # times of the repeated reruns


@contextmanager
def error_boundary(part: str) -> Iterator[None]:
    """Render the message of a UserError; log any other exception and say that `part`, as "The map", failed."""
    try:
        yield
    except UserError as error:
        st.caption(f":orange[{escape_markdown(error)}]")
    except Exception as error:
        if isinstance(error, OSError) and is_disk_full(error):
            st.caption(f":orange[{escape_markdown(disk_full_of(error, services().settings.runs, services().data))}]")
            return
        if _is_of_two_reruns(error) and _repeats():
            st.rerun()
        logging.getLogger("dmlviz").exception("%s failed", part)
        st.caption(f":orange[{part} {FAILED}]")


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
