"""What one takes away from a lab: the figure, its numbers, and what repeats it."""

import streamlit as st

from app.state.labs import LabsState, LabView, view_rows
from dmlviz.labs.keep import as_command, as_csv, as_page, as_script


def keep(ui: LabsState, view: LabView) -> None:
    """Render the downloads of the study shown, or of the one that the settings name."""
    info = None if view.shown is None else view.shown.info
    size, dataset = (ui.size, view.dataset) if info is None else (info["size"], info["dataset"])
    name = f"{view.lab.name}-{size}-{dataset}"
    st.markdown("##### Keep")
    with st.container(horizontal=True, gap="small"):
        if view.shown is not None:
            spec = next((f for f in view.lab.figures if f.name == ui.figure), view.lab.figures[0])
            dark = st.context.theme.type == "dark"
            st.download_button(
                "Figure (HTML)",
                lambda: as_page(spec, view_rows(view), dark).encode(),
                file_name=f"{name}-{spec.name}.html",
                mime="text/html",
                on_click="ignore",
            )
            st.download_button(
                "Numbers (CSV)",
                lambda: as_csv(view_rows(view)).encode(),
                file_name=f"{name}.csv",
                mime="text/csv",
                on_click="ignore",
            )
        st.download_button(
            "Script (Python)",
            as_script(view.lab.name, size, dataset),
            file_name=f"{view.lab.name.replace('-', '_')}.py",
            mime="text/x-python",
            on_click="ignore",
        )
    st.code(as_command(view.lab.name, size, dataset), language="bash")
