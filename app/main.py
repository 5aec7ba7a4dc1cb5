"""The app for `streamlit run app/main.py`, which finds the routes too; `dmlviz serve` builds its own."""

import streamlit as st

from app.runtime.identity import access_from_environment
from app.server import LOOPBACK, PAGE, Settings, app_options

# Streamlit listens everywhere where it is not told otherwise.
reachable = st.get_option("server.address") not in LOOPBACK
settings = Settings(access=access_from_environment(reachable))
# `streamlit run` looks in this text for `… = st.App(…)`, so no function may do it.
app = st.App(PAGE, **app_options(settings, on_ready=lambda address: print(f"Serving dmlviz at {address}", flush=True)))
