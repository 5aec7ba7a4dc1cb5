"""Compare page: two runs of the same data set side by side, with linked maps."""

import streamlit as st

from app.panels import compare_curves, compare_view, navigation, variant
from app.runtime import url_state
from app.runtime.services import session_services
from app.state import compare, explore
from app.widgets.error_boundary import error_boundary
from app.widgets.markdown import escape_markdown

app_services = session_services()
ui = url_state.get_or_create(compare.CompareState, compare.KEY)
pair = compare.resolve_pair(ui, app_services, explore.saved_state().run)

if pair is None:
    st.caption("No runs yet. Train one in Explore.")
else:
    app_services.audience.mark_viewing(
        "compare", [run_view.run.id for run_view in (pair.a, pair.b) if run_view is not None]
    )
    with navigation.top_bar_slot(), st.container(horizontal=True, vertical_alignment="center", gap="small"):
        variant.menus(ui, app_services, pair.a.run)
    for note in ui.notes:
        st.caption(f":orange[{escape_markdown(note)}]")
    compare_view.run_pickers(ui, app_services, pair)
    compare_view.progress(ui, app_services, pair)

    page_pair = pair

    @st.fragment
    def maps() -> None:
        """Render the part that a click on a map changes."""
        with error_boundary():
            compare_view.map_pair(ui, app_services, page_pair)
            url_state.write_url(ui)

    maps()

    @st.fragment
    def curves() -> None:
        """Render the curves of both runs."""
        with error_boundary():
            url_state.write_url(ui)  # first: a click may not come with an address from before
            compare_curves.compare_curves(ui, page_pair)
            url_state.write_url(ui)

    curves()

url_state.write_url(ui)
