"""Figures below the map: recall@k, ROC, distances, confusion matrix, training curves; computed when opened."""

from typing import TYPE_CHECKING

import streamlit as st

from app.state import explore
from app.state.current_view import PageContext, context_key, page_context
from app.state.curves import measured_of, step_of
from app.state.explore_options import CURVES
from app.widgets.error_boundary import error_boundary
from app.widgets.parameters import bound_widget
from dmlviz.catalog.figures import FIGURES
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import plotly.graph_objects as go

KEY = "curves"
HEIGHT = 380  # pixels
REFRESH_INTERVAL_S = 5.0  # seconds between two looks at a training; a figure that has not changed stays as it is
PLOTLY_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"]}
SQUARE = ("roc", "confusion_matrix")  # as wide as high, which leaves room for the words


def curves(page: PageContext) -> None:
    """Render an expander with a figure of the run and step on the map; a fragment, so that the page is not rerun."""
    key, contexts = context_key(page), [page]

    @st.fragment
    def drawer() -> None:
        with error_boundary():
            context = contexts.pop() if contexts else page_context()
            if context.run_view is None or context_key(context)[:2] != key[:2]:
                st.rerun()
            # First of all: a click on what is drawn below may not come with an address from before.
            explore.publish(context.ui)
            _drawer(context)

    drawer()


def _drawer(now: PageContext) -> None:
    ui = now.ui
    if KEY not in st.session_state or st.session_state[KEY] != (ui.curves is not None):
        st.session_state[KEY] = ui.curves is not None

    def on_toggle() -> None:
        ui.curves = CURVES[0] if st.session_state[KEY] else None

    drawer = st.expander("Curves", expanded=ui.curves is not None, key=KEY, on_change=on_toggle)
    if ui.curves is None:  # nothing is measured for nobody
        return
    with drawer:
        bound_widget(
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
        live = now.run_view is not None and now.run_view.live
        st.fragment(_figure, run_every=REFRESH_INTERVAL_S if live else None)(live)


def _figure(was_live: bool) -> None:
    with error_boundary():
        context = page_context()
        ui, run_view = context.ui, context.run_view
        if run_view is None or ui.curves is None or (was_live and not run_view.live):
            st.rerun()
        try:
            data = measured_of(run_view.run, ui.curves, step_of(run_view, ui.step))
        except UserError as error:
            st.caption(str(error))
            return
        from dmlviz.figures.drawing import draw  # Plotly: a third of a second, for the first who looks

        figure = draw(ui.curves, data, dark=st.context.theme.type == "dark")
        _show(ui.curves, figure)


def _show(name: str, figure: "go.Figure") -> None:
    """Render the figure, with its title and summary beside it."""
    title, description = figure.layout.meta["title"], figure.layout.meta["about"]
    below = 48 if figure.layout.showlegend is False else 72
    figure.update_layout(title=None, margin={"l": 64, "r": 16, "t": 12, "b": below}, height=HEIGHT)
    left, right = st.columns([4, 6] if name in SQUARE else [7, 3])
    with left:
        # In Streamlit's theme ground, lines and words follow a change of the page's at once; its words are in page.css.
        st.plotly_chart(
            figure, theme="streamlit", config=PLOTLY_CONFIG, key="curves.chart", alt=f"{title}. {description}."
        )
    with right:
        st.markdown(f"**{title}**")
        st.caption(f"{description}.")
        st.caption(FIGURES[name].summary)
