"""Below the map: recall@k, ROC, distances, confusion and training as figures. Closed until somebody looks."""

from typing import TYPE_CHECKING

import streamlit as st

from app import state
from app.curves import measured_of, step_of
from app.faults import as_sentences
from app.parameters import controlled
from app.shown import Now, fingerprint, look
from app.state import CURVES
from dmlviz.errors import UserError
from dmlviz.figures.declared import FIGURES

if TYPE_CHECKING:
    import plotly.graph_objects as go

KEY = "curves"
HEIGHT = 380  # pixels
AGAIN = 5.0  # seconds between two looks at a training; a figure that has not changed stays as it is
BAR = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"]}
SQUARE = ("roc", "confusion_matrix")  # as wide as high, which leaves room for the words


def curves(now: Now) -> None:
    """A drawer whose figure is of the run and the step that the map shows; it draws itself anew, not the page."""
    seen, fresh = fingerprint(now), [now]

    @st.fragment
    def drawer() -> None:
        with as_sentences():
            here = fresh.pop() if fresh else look()
            if here.shown is None or fingerprint(here)[:2] != seen[:2]:
                st.rerun()
            # First of all: a click on what is drawn below may not come with an address from before.
            state.publish(here.ui)
            _drawer(here)

    drawer()


def _drawer(now: Now) -> None:
    ui = now.ui
    if KEY not in st.session_state or st.session_state[KEY] != (ui.curves is not None):
        st.session_state[KEY] = ui.curves is not None

    def turned() -> None:
        ui.curves = CURVES[0] if st.session_state[KEY] else None

    drawer = st.expander("Curves", expanded=ui.curves is not None, key=KEY, on_change=turned)
    if ui.curves is None:  # nothing is measured for nobody
        return
    with drawer:
        controlled(
            st.segmented_control,
            "Figure",
            "curves.figure",
            ui.curves,
            lambda name: setattr(ui, "curves", name),
            options=list(CURVES),
            format_func=lambda name: FIGURES[name].title,
            label_visibility="collapsed",
            required=True,
        )
        live = now.shown is not None and now.shown.live
        st.fragment(_figure, run_every=AGAIN if live else None)(live)


def _figure(was_live: bool) -> None:
    with as_sentences():
        now = look()
        ui, shown = now.ui, now.shown
        if shown is None or ui.curves is None or (was_live and not shown.live):
            st.rerun()
        try:
            measured = measured_of(shown.run, ui.curves, step_of(shown, ui.step))
        except UserError as error:
            st.caption(str(error))
            return
        from dmlviz.figures.drawing import draw  # Plotly: a third of a second, for the first who looks

        figure = draw(ui.curves, measured, dark=st.context.theme.type == "dark")
        _show(ui.curves, figure)


def _show(name: str, figure: "go.Figure") -> None:
    """The figure, and beside it the words that it has for a title when it stands alone."""
    title, about = figure.layout.meta["title"], figure.layout.meta["about"]
    below = 48 if figure.layout.showlegend is False else 72
    figure.update_layout(title=None, margin={"l": 64, "r": 16, "t": 12, "b": below}, height=HEIGHT)
    left, right = st.columns([4, 6] if name in SQUARE else [7, 3])
    with left:
        # In Streamlit's theme ground, lines and words follow a change of the page's at once; its words are in page.css.
        st.plotly_chart(figure, theme="streamlit", config=BAR, key="curves.chart", alt=f"{title}. {about}.")
    with right:
        st.markdown(f"**{title}**")
        st.caption(f"{about}.")
        st.caption(FIGURES[name].summary)
