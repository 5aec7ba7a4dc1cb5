"""Two runs of the same data side by side: what one does on the left happens on the right."""

import streamlit as st

from app import address, compare, navigation, state
from app.faults import as_sentences
from app.parts import beside, change
from app.services import services
from app.words import plain

here = services()
ui = address.current(compare.CompareState, compare.KEY)
routes = here.routes
pair = compare.found(ui, here, state.left().run)

if pair is None:
    st.caption("There is no run here yet. Train one in Explore.")
else:
    here.audience.sees("compare", [one.run.id for one in (pair.a, pair.b) if one is not None])
    with navigation.beside(), st.container(horizontal=True, vertical_alignment="center", gap="small"):
        change.menus(ui, here, pair.a.run)
    for note in ui.notes:
        st.caption(f":orange[{plain(note)}]")
    beside.chosen(ui, here, pair)
    beside.progress(ui, here, pair, routes)

    seen = pair

    @st.fragment
    def maps() -> None:
        """The part that a click on a map changes."""
        with as_sentences():
            beside.maps(ui, here, seen, routes)
            address.publish(ui)

    maps()

address.publish(ui)
