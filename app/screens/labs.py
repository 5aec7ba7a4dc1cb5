"""Labs page: the cards of all labs, or one lab."""

import streamlit as st

from app.panels import lab_cards, lab_view
from app.runtime import url_state
from app.runtime.services import session_services
from app.state.labs import KEY, LabsState

before = url_state.peek(LabsState, KEY)
ui = url_state.get_or_create(LabsState, KEY)
if ui is not before:  # a link from Labs to Labs tells the server, but leaves the browser's address as it was
    st.query_params.from_dict(ui.to_query())
url_state.write_url(ui)

with st.container(key="labs"):
    if ui.lab:
        lab_view.lab_view(ui, session_services())
    else:
        lab_cards.lab_cards(session_services())

url_state.write_url(ui)
