"""Error boundary: a page shows a message, never a traceback."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dmlviz.errors import UserError
from dmlviz.storage.disk_space import disk_full, is_disk_full
from dmlviz_app.server.services import services
from dmlviz_app.widgets.markdown import escape_markdown

INTERNAL_ERROR_MESSAGE = "Something went wrong (details in the log). Reload to continue."


@contextmanager
def error_boundary() -> Iterator[None]:
    """Render the message of a UserError; log any other exception and render a generic message."""
    try:
        yield
    except UserError as error:
        st.caption(f":orange[{escape_markdown(error)}]")
    except Exception as error:
        if is_disk_full(error):
            st.caption(f":orange[{escape_markdown(disk_full(services().settings.runs))}]")
            return
        logging.getLogger("dmlviz").exception("a page failed")
        st.caption(f":orange[{INTERNAL_ERROR_MESSAGE}]")
