"""The app for `streamlit run app/main.py`, which finds the routes too; `dmlviz serve` builds its own."""

import streamlit as st

from app.runtime.hosting import LOOPBACK, hosting_from_environment
from app.runtime.identity import access_from_environment
from app.server import PAGE, Settings, app_options

# Streamlit listens everywhere where it is not told otherwise.
host = st.get_option("server.address") or "0.0.0.0"
settings = Settings(
    host=host,
    hosting=hosting_from_environment(base_path=st.get_option("server.baseUrlPath")),
    access=access_from_environment(reachable=host not in LOOPBACK),
)
# `streamlit run` looks in this text for `… = st.App(…)`, so no function may do it.
app = st.App(PAGE, **app_options(settings, on_ready=lambda address: print(f"Serving dmlviz at {address}", flush=True)))
