"""Error boundary: where a part of a page fails, it says so there, without a traceback; the other parts stand."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dmlviz.errors import UserError
from dmlviz.storage.disk_space import disk_full, is_disk_full
from dmlviz_app.server.services import services
from dmlviz_app.widgets.markdown import escape_markdown

FAILED = "failed (details in the log); reload the page to try again."


@contextmanager
def error_boundary(part: str) -> Iterator[None]:
    """Render the message of a UserError; log any other exception and say that `part`, as "The map", failed."""
    try:
        yield
    except UserError as error:
        st.caption(f":orange[{escape_markdown(error)}]")
    except Exception as error:
        if is_disk_full(error):
            st.caption(f":orange[{escape_markdown(disk_full(services().settings.runs))}]")
            return
        logging.getLogger("dmlviz").exception("%s failed", part)
        st.caption(f":orange[{part} {FAILED}]")
