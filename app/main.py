"""The app for `streamlit run app/main.py`, which finds the routes too; `dmlviz serve` builds its own."""

import streamlit as st
from dmlviz_app.application import PAGE, Settings, app_options

# Streamlit listens on all addresses by default.
host = st.get_option("server.address") or "0.0.0.0"
settings = Settings(host=host, base_path=st.get_option("server.baseUrlPath"))
# `streamlit run` looks in this text for `… = st.App(…)`, so no function may do it.
app = st.App(PAGE, **app_options(settings, on_ready=lambda address: print(f"Serving dmlviz at {address}", flush=True)))
