"""What a person sees of an error: its sentence, never a traceback."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from app.words import plain
from dmlviz.errors import UserError

FAULT = "This page ran into a fault of the program; the log has the details. Reload to go on."


@contextmanager
def as_sentences() -> Iterator[None]:
    """Draw a UserError as its own words, and anything else as a fault that is in the log."""
    try:
        yield
    except UserError as error:
        st.caption(f":orange[{plain(error)}]")
    except Exception:
        logging.getLogger("dmlviz").exception("a page failed")
        st.caption(f":orange[{FAULT}]")
