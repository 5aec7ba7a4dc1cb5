"""The home page: choose, train, watch, ask."""

import streamlit as st

from app import navigation, state
from app.faults import as_sentences
from app.parts import curves, lesson, lossview, side, sidebar, stage, toolbar
from app.shown import fingerprint, look
from app.words import plain
from dmlviz.damage import damage_of, told

now, taught = sidebar.explored()

if taught is not None:
    lesson.panel(now, taught)

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
        side.choice()
    said = "" if now.shown.live else told(damage_of(now.shown.run))
    if said:
        st.caption(f":orange[{plain(said)}]")
    with navigation.beside():
        stage.progress(now.ui, now.services, now.shown, now.routes)
    seen, fresh = fingerprint(now), [now]

    @st.fragment
    def map_and_inspector() -> None:
        """The part that a click on the map changes, so that nothing else is run or sent again."""
        with as_sentences():
            here = fresh.pop() if fresh else look()
            if here.shown is None or fingerprint(here) != seen:
                st.rerun()
            neighbours = side.neighbours_of(here.ui, here.shown)
            left, right = st.columns([7, 3])
            with right:
                answer = side.side(here.ui, here.services, here.shown, neighbours, here.routes)
            with left:
                stage.the_map(here.ui, here.shown, neighbours, answer, here.routes)
            state.publish(here.ui)

    map_and_inspector()
    if taught is None or taught.revealed or not taught.task.look_first:
        stage.scores(now.shown, now.routes)
        lossview.lossview(now.shown, now.routes)
        curves.curves(now)

state.publish(now.ui)
