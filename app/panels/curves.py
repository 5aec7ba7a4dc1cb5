"""Figures below the map: recall@k, ROC, distances, confusion matrix, training, queries, scores; made when opened."""

from typing import TYPE_CHECKING, Any

import streamlit as st

from app.panels import inspector
from app.panels.random_queries import random_queries
from app.panels.score_table import score_table
from app.payloads.baseline_curves import BaselineCurves, baseline_curves
from app.payloads.protocol.common import ROUTES
from app.runtime import url_state
from app.state import explore
from app.state.current_view import PageContext, RunView, context_key, page_context
from app.state.curves import measured_of, scores_of, step_of
from app.state.explore_options import CURVES, QUERIES, SCORES
from app.state.selection import Selection
from app.widgets.components import mount
from app.widgets.error_boundary import error_boundary
from app.widgets.parameters import bound_widget
from dmlviz.catalog.figures import FIGURES
from dmlviz.errors import UserError
from dmlviz.figures.baselines import MEASURES
from dmlviz.figures.data import Images, Measured, images
from dmlviz.figures.images_behind import CLICKABLE, ImagesBehind, images_behind
from dmlviz.metrics.distance_histograms import PairKind

if TYPE_CHECKING:
    import plotly.graph_objects as go

KEY = "curves"
CHART = "curves.chart"
LOG_X = "curves.log_x"
BEHIND = "curves.behind"  # the selection that a click made, with the sentence that says what it is
CLICKED = "curves.clicked"
HEIGHT = 380  # pixels
REFRESH_INTERVAL_S = 5.0  # seconds between two looks at a training; a figure that has not changed stays as it is
PLOTLY_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"]}
SQUARE = ("roc", "confusion_matrix")  # as wide as high, which leaves room for the words
LOGARITHMIC = ("roc",)  # with a choice of the axis


def curves(page: PageContext) -> None:
    """Render an expander with a figure of the run and step on the map; a fragment, so that the page is not rerun."""
    key, contexts = context_key(page), [page]

    @st.fragment
    def drawer() -> None:
        with error_boundary():
            context = contexts.pop() if contexts else page_context()
            if context.run_view is None or context_key(context)[:2] != key[:2]:
                url_state.rerun()
            # First of all: a click on what is drawn below may not come with an address from before.
            explore.publish(context.ui)
            _drawer(context)

    drawer()


def _drawer(now: PageContext) -> None:
    ui = now.ui
    if KEY not in st.session_state or st.session_state[KEY] != (ui.curves is not None):
        st.session_state[KEY] = ui.curves is not None

    def on_toggle() -> None:
        ui.curves = next(iter(CURVES)) if st.session_state[KEY] else None

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
            format_func=lambda name: CURVES[name],
            label_visibility="collapsed",
            required=True,
        )
        live = now.run_view is not None and now.run_view.live
        st.fragment(_figure, run_every=REFRESH_INTERVAL_S if live else None)(live)


def _figure(was_live: bool) -> None:
    with error_boundary():
        # A rerun by the clock brings the address of a moment ago: a choice made since would be taken back.
        context = page_context(explore.saved_state())
        ui, run_view = context.ui, context.run_view
        clicked = st.session_state.pop(CLICKED, False)  # then the map shows what is selected
        if run_view is None or ui.curves is None or (was_live and not run_view.live) or clicked:
            url_state.rerun()
        step = step_of(run_view, ui.step)
        try:
            if ui.curves == SCORES:
                score_table(*scores_of(run_view.run, step))
                return
            if ui.curves == QUERIES:
                _queries(run_view, step)
                return
            data = measured_of(run_view.run, ui.curves, step)
        except UserError as error:
            st.caption(str(error))
            return
        beside = _beside(context)
        others = [
            Measured(baseline.curves[ui.curves], (), "", baseline.name)
            for baseline in beside.baselines
            if ui.curves in baseline.curves
        ]
        measured = Measured(data.data, data.classes, data.about, run_view.run.title)
        from dmlviz.figures.drawing import draw  # Plotly: a third of a second, for the first who looks

        dark = st.context.theme.type == "dark"
        log_x = ui.curves in LOGARITHMIC and st.session_state.get(LOG_X, False)
        figure = draw(ui.curves, measured, dark, others, **({"log_x": True} if log_x else {}))
        _show(context, run_view, measured, figure, len(beside.baselines) if beside.pending else None)


def _queries(run_view: RunView, step: int | None) -> None:
    selected = images(run_view.run, step=step)
    if run_view.pictures is None:
        st.caption("The pictures of this data set are not on disk here: train on it once.")
    else:
        random_queries(selected, run_view.pictures)


def _beside(context: PageContext) -> BaselineCurves:
    """The baselines of what is drawn; none while a training needs the processor, or without pictures."""
    run_view, services = context.run_view, context.services
    if run_view is None or run_view.live or run_view.pictures is None or context.ui.curves not in MEASURES:
        return BaselineCurves([], pending=False)
    tracked = step_of(run_view, context.ui.step) is not None
    return baseline_curves(run_view.run, run_view.pictures, tracked, services.data, services.cache)


def _show(
    context: PageContext, run_view: RunView, measured: Measured, figure: "go.Figure", awaited: int | None
) -> None:
    """Render the figure, with its title and summary beside it.

    Args:
        context: What the page shows.
        run_view: The run.
        measured: What the figure shows of it.
        figure: The figure.
        awaited: How many baselines are drawn while others are still measured; None where none is awaited.
    """
    ui, name = context.ui, str(context.ui.curves)
    title, description = figure.layout.meta["title"], figure.layout.meta["about"]
    below = 48 if figure.layout.showlegend is False else 72
    figure.update_layout(title=None, margin={"l": 64, "r": 16, "t": 12, "b": below}, height=HEIGHT)
    key = f"{CHART}.{name}"

    def on_click() -> None:
        points = st.session_state[key].selection.points
        if points:
            _select(context, run_view, measured, points[0])

    left, right = st.columns([4, 6] if name in SQUARE else [7, 3])
    with left:
        clickable: dict[str, Any] = {"on_select": on_click, "selection_mode": "points"} if name in CLICKABLE else {}
        # In Streamlit's theme ground, lines and words follow a change of the page's at once; its words are in page.css.
        st.plotly_chart(
            figure, theme="streamlit", config=PLOTLY_CONFIG, key=key, alt=f"{title}. {description}.", **clickable
        )
    with right:
        st.markdown(f"**{title}**")
        st.caption(f"{description}.")
        st.caption(FIGURES[name].summary)
        if awaited is not None:
            _await_baselines(context, run_view, awaited)
        if name in LOGARITHMIC:
            st.toggle("Logarithmic false positive rate", key=LOG_X)
        behind = st.session_state.get(BEHIND)
        if behind is not None and behind[0] == ui.selected:
            st.caption(f"**Selected:** {behind[1]}.")
        elif name in CLICKABLE:
            st.caption(
                "Click a cell to select its images."
                if name == "confusion_matrix"
                else "Click a point to select the images behind it."
            )


def _await_baselines(context: PageContext, run_view: RunView, num_drawn: int) -> None:
    """Say that baselines are being measured, and have the figure drawn anew when there are more than are drawn.

    The page asks the server, which answers when one is measured: a rerun by the clock can swallow a click.
    """
    tracked = step_of(run_view, context.ui.step) is not None
    query = f"drawn={num_drawn}" + ("&tracked=1" if tracked else "")
    data = {"url": f"{ROUTES}/runs/{run_view.run.id}/baseline-curves.json?{query}"}
    mount("baseline_wait", key="curves.baselines", data=data, on_measured_change=lambda: None)


def images_behind_point(name: str, selected: Images, measured: Measured, point: dict[str, Any]) -> ImagesBehind:
    """Return the images behind a point of a figure, as Streamlit tells of a click on it; the first trace is its own."""
    extra = point.get("customdata")
    x = float(str(point["x"] if extra is None or isinstance(extra, list | dict) else extra))
    kind: PairKind = "same" if int(point.get("curve_number", 0)) % 2 else "different"
    return images_behind(name, selected, measured, x, kind)


def _select(context: PageContext, run_view: RunView, measured: Measured, point: dict[str, Any]) -> None:
    """Select the images behind a point that was clicked."""
    ui, name = context.ui, str(context.ui.curves)
    try:
        selected = images(run_view.run, step=step_of(run_view, ui.step))
        behind = images_behind_point(name, selected, measured, point)
    except UserError as error:
        ui.messages.append(str(error))
        return
    ui.selected = Selection.of(run_view.run.config.dataset, behind.items)
    st.session_state[BEHIND] = ui.selected, behind.text
    st.session_state[inspector.KEY] = inspector.SIDES[0]
    st.session_state[CLICKED] = True
