"""Labs page: the cards of all labs, or one lab."""

import streamlit as st

from dmlviz_app.labs import view as lab_view
from dmlviz_app.labs.state import KEY, LabsState
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import url_state

before = url_state.peek(LabsState, KEY)
ui = url_state.get_or_create(LabsState, KEY)
if ui is not before:  # a link from Labs to Labs reaches the server, but leaves the browser's address as it was
    st.query_params.from_dict(ui.to_query())
url_state.write_url(ui)

with st.container(key="labs"):
    if ui.lab:
        lab_view.lab_view(ui, session_services())
    else:
        lab_view.lab_cards(session_services(), ui.messages)

url_state.write_url(ui)
