"""What one takes away from a lab: the figure, its numbers, and what repeats it."""

from urllib.parse import urlencode

import streamlit as st

from app.payloads.protocol.common import ROUTES
from app.state.labs import LabsState, LabView
from dmlviz.labs.keep import as_command


def keep(ui: LabsState, view: LabView) -> None:
    """Render the downloads of the study shown, or of the one that the settings name."""
    info = None if view.study is None else view.study.info
    size, dataset = (ui.size, view.dataset) if info is None else (info["size"], info["dataset"])
    # Relative, as the app may lie below a path.
    routes = f"{ROUTES}/labs/{view.lab.name}/{dataset}"
    st.markdown("##### Keep")
    with st.container(horizontal=True, gap="small"):
        if view.study is not None:
            source = "ready-made" if view.study is view.ready_made else size
            query = urlencode(
                {"figure": ui.figure or view.lab.figures[0].name, "dark": int(st.context.theme.type == "dark")}
            )
            st.link_button("Figure (HTML)", f"{routes}/{source}/figure.html?{query}")
            st.link_button("Numbers (CSV)", f"{routes}/{source}/numbers.csv")
        st.link_button("Script (Python)", f"{routes}/{size}/script.py")
    st.code(as_command(view.lab.name, size, dataset), language="bash", wrap_lines=True)
