"""Compare page: two runs of the same data set side by side, with linked maps."""

import streamlit as st

from app.panels import compare_view, navigation, variant
from app.runtime import url_state
from app.runtime.services import session_services
from app.state import compare, explore
from app.widgets.error_boundary import error_boundary
from app.widgets.markdown import escape_markdown

here = session_services()
ui = url_state.get_or_create(compare.CompareState, compare.KEY)
pair = compare.resolve_pair(ui, here, explore.saved_state().run)

if pair is None:
    st.caption("No runs yet. Train one in Explore.")
else:
    here.audience.mark_viewing("compare", [one.run.id for one in (pair.a, pair.b) if one is not None])
    with navigation.top_bar_slot(), st.container(horizontal=True, vertical_alignment="center", gap="small"):
        variant.menus(ui, here, pair.a.run)
    for note in ui.notes:
        st.caption(f":orange[{escape_markdown(note)}]")
    compare_view.run_pickers(ui, here, pair)
    compare_view.progress(ui, here, pair)

    seen = pair

    @st.fragment
    def maps() -> None:
        """Render the part that a click on a map changes."""
        with error_boundary():
            compare_view.map_pair(ui, here, seen)
            url_state.write_url(ui)

    maps()

url_state.write_url(ui)
