"""The app's entry: pages on top."""

from pathlib import Path

import streamlit as st

from app.panels import navigation, sidebar
from app.widgets.error_boundary import as_sentences
from app.widgets.parameters import whole_run

HERE = Path(__file__).resolve().parent

st.set_page_config("dmlviz", page_icon=str(HERE / "assets" / "icon.png"), layout="wide")
st.html(HERE / "page.css")
pages = navigation.pages()
page = st.navigation(list(pages.values()), position="hidden")
navigation.bar(pages, page)
with as_sentences(), whole_run():
    if page is pages[navigation.HOME]:
        sidebar.here()
        page.run()
    else:
        page.run()  # what is seen comes before what is only kept
        sidebar.elsewhere()
