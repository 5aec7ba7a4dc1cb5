"""What a person sees of an error: its sentence, never a traceback."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from app.widgets.markdown import escape_markdown
from dmlviz.errors import UserError

INTERNAL_ERROR_MESSAGE = "Something went wrong (details in the log). Reload to continue."


@contextmanager
def error_boundary() -> Iterator[None]:
    """Draw a UserError as its own words, and anything else as a fault that is in the log."""
    try:
        yield
    except UserError as error:
        st.caption(f":orange[{escape_markdown(error)}]")
    except Exception:
        logging.getLogger("dmlviz").exception("a page failed")
        st.caption(f":orange[{INTERNAL_ERROR_MESSAGE}]")
