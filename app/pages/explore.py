"""The home page: choose, train, watch, ask."""

import streamlit as st

from app import state
from app.identity import owner
from app.parts import settings, side, stage, toolbar
from app.services import services
from app.shown import resolve

ui = state.current()
here = services()
routes = here.routes and st.session_state.get("map", {}).get("routes") != "blocked"
shown = resolve(ui, here, owner())

with st.sidebar:
    settings.settings(ui, here, shown)

if shown is None:
    st.caption("There is no run here yet. Press Train.")
else:
    neighbours = side.neighbours_of(ui, shown)
    main, right = st.columns([7, 3])
    with right:
        answer = side.side(ui, here, shown, neighbours, routes)
    with main:
        toolbar.toolbar(ui, here, shown)
        stage.progress(here, shown, routes)
        stage.the_map(ui, shown, neighbours, answer, routes)
    stage.scores(shown, routes)

state.publish(ui)
