"""Curves of the two runs of Compare, in one figure."""

import streamlit as st

from app.panels.curves import LOGARITHMIC, PLOTLY_CONFIG, SQUARE
from app.state.compare import CompareState, Pair
from app.state.curves import measured_of
from app.state.explore_options import COMPARED_CURVES, CURVES
from app.widgets.parameters import bound_widget
from dmlviz.catalog.figures import FIGURES
from dmlviz.errors import UserError
from dmlviz.figures.data import Measured

KEY = "compare.curves"
LOG_X = "compare.curves.log_x"
HEIGHT = 420  # pixels


def compare_curves(ui: CompareState, pair: Pair) -> None:
    """Render an expander with a figure of both runs, at their ends; nothing is measured while it is closed."""
    if not pair.complete:
        return
    if KEY not in st.session_state or st.session_state[KEY] != (ui.curves is not None):
        st.session_state[KEY] = ui.curves is not None

    def on_toggle() -> None:
        ui.curves = COMPARED_CURVES[0] if st.session_state[KEY] else None

    drawer = st.expander("Curves", expanded=ui.curves is not None, key=KEY, on_change=on_toggle)
    if ui.curves is None:
        return
    with drawer:
        bound_widget(
            st.segmented_control,
            "Figure",
            "compare.curves.figure",
            ui.curves,
            lambda name: setattr(ui, "curves", name),
            options=list(COMPARED_CURVES),
            format_func=lambda name: CURVES[name],
            label_visibility="collapsed",
            required=True,
        )
        try:
            _figure(ui.curves, pair)
        except UserError as error:
            st.caption(str(error))


def _figure(name: str, pair: Pair) -> None:
    assert pair.b is not None  # the pair is complete
    both = []
    for run_view, which in ((pair.a, "first"), (pair.b, "second")):
        of_run = measured_of(run_view.run, name, None)
        title = run_view.run.title if pair.a.run.title != pair.b.run.title else f"{run_view.run.title} ({which})"
        both.append(Measured(of_run.data, of_run.classes, of_run.about, title))
    from dmlviz.figures.drawing import draw  # Plotly: a third of a second, for the first who looks

    left, right = st.columns([4, 6] if name in SQUARE else [7, 3])
    with right:
        st.markdown(f"**{CURVES[name]}**")
        st.caption(f"{'; '.join(dict.fromkeys(measured.about for measured in both))}.")
        st.caption(FIGURES[name].summary)
        log_x = name in LOGARITHMIC and st.toggle("Logarithmic false positive rate", key=LOG_X)
    dark = st.context.theme.type == "dark"
    figure = draw(name, both[0], dark, both[1:], **({"log_x": True} if log_x else {}))
    title = figure.layout.meta["title"]
    figure.update_layout(title=None, margin={"l": 64, "r": 16, "t": 12, "b": 88}, height=HEIGHT)
    with left:
        st.plotly_chart(
            figure, theme="streamlit", config=PLOTLY_CONFIG, key=f"compare.curves.{name}", alt=f"{title}, of both runs."
        )
