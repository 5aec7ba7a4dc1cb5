"""The app's entry: pages on top, errors as sentences."""

import logging
from pathlib import Path

import streamlit as st

from dmlviz.errors import UserError

HERE = Path(__file__).resolve().parent

st.set_page_config("dmlviz", page_icon=str(HERE / "assets" / "icon.png"), layout="wide")
st.html(HERE / "page.css")
page = st.navigation([st.Page(HERE / "pages" / "explore.py", title="Explore", default=True)], position="top")
try:
    page.run()
except UserError as error:
    st.caption(f":orange[{error}]")
except Exception:
    logging.getLogger("dmlviz").exception("a page failed")
    st.caption(":orange[This page ran into a fault of the program; the log has the details. Reload to go on.]")
