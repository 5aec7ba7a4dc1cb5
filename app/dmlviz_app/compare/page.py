"""Compare page: two to six runs of one data set side by side, with linked maps."""

import streamlit as st

from dmlviz_app.compare import curves as compare_curves
from dmlviz_app.compare import maps as compare_view
from dmlviz_app.compare import state as compare
from dmlviz_app.compare import variant
from dmlviz_app.forms import view_state as explore
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import navigation, url_state
from dmlviz_app.widgets.error_boundary import error_boundary

app_services = session_services()
ui = url_state.get_or_create(compare.CompareState, compare.KEY)
pair = compare.resolve(ui, app_services, explore.saved_state().run)

if pair is None:
    st.caption("No runs yet. Train one in Explore.")
else:
    app_services.audience.mark_viewing("compare", [run_view.run.id for run_view in pair.views])
    with (
        navigation.top_bar_slot(),
        error_boundary("Change one setting"),
        st.container(horizontal=True, vertical_alignment="center", gap="small"),
    ):
        variant.menus(ui, app_services, pair)
    with error_boundary("The choice of runs"):
        compare_view.run_pickers(ui, app_services, pair)
        ui.messages.show("runs", "curves")
    with error_boundary("The progress"):
        compare_view.progress(ui, app_services, pair)
    url_state.write_url(ui)  # before the maps: the browser adds what is looked at to the address of these runs

    page_pair = pair
    with error_boundary("The workbench"):
        compare_view.linked_maps(ui, pair)

    @st.fragment
    def curves() -> None:
        """Render the curves of both runs."""
        with error_boundary("Curves"):
            url_state.write_url(ui)  # first: a click may not come with an address from before
            compare_curves.compare_curves(ui, page_pair)
            url_state.write_url(ui)

    curves()

url_state.write_url(ui)
