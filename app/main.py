"""The app for `streamlit run app/main.py`, which finds the routes too; `dmlviz serve` builds its own."""

import streamlit as st

from app.server import PAGE, Settings, app_options

# `streamlit run` looks in this text for `… = st.App(…)`, so no function may do it.
app = st.App(
    PAGE, **app_options(Settings(), on_ready=lambda address: print(f"Serving dmlviz at {address}", flush=True))
)
