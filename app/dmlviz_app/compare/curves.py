"""Curves of the runs of Compare, in one figure."""

from typing import TYPE_CHECKING, Any

import streamlit as st

from dmlviz.catalog.export_formats import FIGURES
from dmlviz.catalog.glossary import with_terms
from dmlviz.errors import UserError
from dmlviz.figures.data import Measured, images
from dmlviz.figures.images_behind import CLICKABLE
from dmlviz_app.compare.state import Compared, CompareState
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.forms.selection import Selection
from dmlviz_app.forms.view_query import COMPARED_CURVES, CURVES
from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.actions import action, action_messages
from dmlviz_app.workbench.curves import measured_of
from dmlviz_app.workbench.curves_panel import LOGARITHMIC, PLOTLY_CONFIG, SQUARE, images_behind_point

if TYPE_CHECKING:
    import plotly.graph_objects as go

KEY = "compare.curves"
LOG_X = "compare.curves.log_x"
HEIGHT = 420  # pixels
WHICH = ("first", "second", "third", "fourth", "fifth", "sixth")
BEHIND = "compare.curves.behind"  # the selection that a click made, with the sentence that says what it is
CLICKED = "compare.curves.clicked"  # then the maps show what is selected


def compare_curves(ui: CompareState, pair: Compared) -> None:
    """Render an expander with a figure of all runs, at their ends; nothing is measured while it is closed."""
    if st.session_state.pop(CLICKED, False):
        url_state.rerun()
    if not pair.complete or pair.same_run:  # one run has one curve
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
            _figure(ui, ui.curves, pair)
        except UserError as error:
            st.caption(str(error))


def _figure(ui: CompareState, name: str, pair: Compared) -> None:
    both, titles = [], [run_view.run.title for run_view in pair.views]
    for run_view, which in zip(pair.views, WHICH, strict=False):
        of_run = measured_of(run_view.run, name, None)
        title = run_view.run.title if titles.count(run_view.run.title) == 1 else f"{run_view.run.title} ({which})"
        both.append(Measured(of_run.data, of_run.classes, of_run.about, title))
    from dmlviz.figures.drawing import draw  # Plotly: a third of a second, for the first who looks

    left, right = st.columns([4, 6] if name in SQUARE else [7, 3])
    with right:
        st.markdown(f"**{CURVES[name]}**")
        about = "; ".join(dict.fromkeys(curve.about for curve in both))
        said = pair.views[0].run.config.dataset_spec.said
        st.caption(with_terms(said(f"{about}.\n\n{FIGURES[name].summary}")))
        log_x = name in LOGARITHMIC and st.toggle("Logarithmic false positive rate", key=LOG_X)
        behind = st.session_state.get(BEHIND)
        if behind is not None and behind[0] is not None and behind[0] == ui.seen.selected:
            st.caption(said(f"**Selected:** {behind[1]}."))
        elif name in CLICKABLE:
            st.caption(said("Click a point to select the images behind it."))
    dark = st.context.theme.type == "dark"
    figure = draw(name, both[0], dark, both[1:], **({"log_x": True} if log_x else {}))
    title, key = figure.layout.meta["title"], f"compare.curves.{name}"

    def on_click() -> None:
        points = st.session_state[key].selection.points
        if points:
            _select(ui, name, pair, both, figure, points[0])

    figure.update_layout(title=None, margin={"l": 64, "r": 16, "t": 12, "b": 88}, height=HEIGHT)
    with left:
        clickable: dict[str, Any] = (
            {"on_select": action(key, "The click", on_click), "selection_mode": "points"} if name in CLICKABLE else {}
        )
        words = f"{title}, of all {len(both)} runs."
        st.plotly_chart(figure, theme="streamlit", config=PLOTLY_CONFIG, key=key, alt=words, **clickable)
        action_messages().show(key)


def _select(
    ui: CompareState, name: str, pair: Compared, both: list[Measured], figure: "go.Figure", point: dict[str, Any]
) -> None:
    """Select the images behind a point of a run's curve, on all maps."""
    label = str(figure.data[int(point["curve_number"])].name)
    names = [curve.name for curve in both[1:]]
    is_of = (label == name or label.startswith((f"{name}:", f"{name},")) for name in names)
    number = next((i for i, is_found in enumerate(is_of, 1) if is_found), 0)
    run_view = pair.views[number]
    behind = images_behind_point(name, images(run_view.run), both[number], point)
    ui.select_images(Selection.of(run_view.run.config.dataset, behind.items))
    st.session_state[BEHIND] = ui.seen.selected, f"{both[number].name}: {behind.text}"
    st.session_state[CLICKED] = True
