"""The script that Streamlit runs for every page: what all have in common, then the page itself."""

import time
from pathlib import Path

import streamlit as st

from dmlviz_app import feature
from dmlviz_app.forms.parameters import track_interrupted_rerun
from dmlviz_app.server.metrics import RERUN
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import account, navigation, url_state
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.protocol import GlossaryProps

start = time.perf_counter()
APP_DIR = Path(__file__).resolve().parent

url_state.begin_rerun()
pages = navigation.pages()
page = st.navigation(list(pages.values()), position="hidden")
st.set_page_config(
    f"{page.title} · dmlviz",
    page_icon=str(APP_DIR / "assets" / "icon.png"),
    layout="wide",
    # The map first; Streamlit keeps in the browser how a person left it. A lesson has its outline there.
    initial_sidebar_state="auto" if "lesson" in st.query_params else "collapsed",
)
with error_boundary("The style of the page"):
    st.html(APP_DIR / "page.css")
    # Streamlit gives the color scheme to its own element, and dialogs and menus are beside that.
    st.html(f"<style>:root {{ color-scheme: {st.context.theme.type or 'normal'}; }}</style>")
services = session_services()
account.check_access(services)
with error_boundary("The top of the page"):
    navigation.top_bar(pages, page, services.person)
with track_interrupted_rerun():
    with error_boundary("The link"):
        account.open_link(services)
    declared = feature.pages()
    for one in declared.values():
        if one.bar is not None:
            with error_boundary(f"The line of the page {one.title}"):
                one.bar(services)
    with error_boundary(f"The page {page.title}"):
        page.run()
    for address, one in declared.items():  # what is seen comes before what is only kept
        if one.sidebar is not None:
            one.sidebar(page is pages[address])
with error_boundary("The glossary"):
    mount("glossary", key="glossary", data=GlossaryProps())  # explains the words of any page
RERUN.observe(time.perf_counter() - start)  # not reached where a newer run takes over
