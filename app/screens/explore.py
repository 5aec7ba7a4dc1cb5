"""The home page: choose, train, watch, ask."""

import streamlit as st

from app.panels import batch_explorer, curves, inspector, map_panel, navigation, sidebar, task, toolbar
from app.state import explore
from app.state.current_view import fingerprint, look
from app.widgets.error_boundary import as_sentences
from app.widgets.markdown import plain
from dmlviz.runs.damage import damage_of, told

now, taught = sidebar.explored()

if taught is not None:
    task.panel(now, taught)

if taught is not None and not taught.shows_map:
    pass  # the map would give the answer away
elif now.shown is None:
    st.caption("There is no run here yet. Press Train.")
else:
    left, right = st.columns([7, 3])
    if taught is None or taught.revealed:
        with left:
            toolbar.toolbar(now.ui, now.services, now.shown, now.routes)
    with right:
        inspector.choice()
    said = "" if now.shown.live else told(damage_of(now.shown.run))
    if said:
        st.caption(f":orange[{plain(said)}]")
    with navigation.beside():
        map_panel.progress(now.ui, now.services, now.shown, now.routes)
    seen, fresh = fingerprint(now), [now]

    @st.fragment
    def map_and_inspector() -> None:
        """The part that a click on the map changes, so that nothing else is run or sent again."""
        with as_sentences():
            here = fresh.pop() if fresh else look()
            if here.shown is None or fingerprint(here) != seen:
                st.rerun()
            neighbours = inspector.neighbours_of(here.ui, here.shown)
            left, right = st.columns([7, 3])
            with right:
                answer = inspector.side(here.ui, here.services, here.shown, neighbours, here.routes)
            with left:
                map_panel.the_map(here.ui, here.shown, neighbours, answer, here.routes)
            explore.publish(here.ui)

    map_and_inspector()
    if taught is None or taught.revealed or not taught.task.look_first:
        map_panel.scores(now.shown, now.routes)
        batch_explorer.lossview(now.shown, now.routes)
        curves.curves(now)

explore.publish(now.ui)
