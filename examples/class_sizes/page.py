"""The page: a link for each run."""

import streamlit as st
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import session_services

st.markdown("How many test images does each class have?")
for run in session_services().runs.list():
    st.markdown(f"[{run.title}]({ROUTES}/runs/{run.id}/class-sizes.json)")
