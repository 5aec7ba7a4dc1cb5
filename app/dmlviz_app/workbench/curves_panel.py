"""Figures below the map: recall@k, ROC, distances, confusion matrix, training, queries, scores; made when opened."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.catalog.glossary import with_terms
from dmlviz.catalog.metrics import METRICS, format_score, metric_of, metric_title
from dmlviz.errors import UserError
from dmlviz.figures.baselines import MEASURES
from dmlviz.figures.data import Images, Measured, images
from dmlviz.figures.images_behind import CLICKABLE, ImagesBehind, images_behind
from dmlviz.labs.pictures import picture_grid
from dmlviz.metrics.distance_histograms import PairKind
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz_app.answers.baseline_curves import BaselineCurves, baseline_curves
from dmlviz_app.answers.sprites import ImageTiles
from dmlviz_app.forms import view_state as explore
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.forms.selection import Selection
from dmlviz_app.forms.view_query import CURVES, QUERIES, SCORES
from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.actions import action, action_messages, button
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.pictures import picture
from dmlviz_app.workbench.current_view import PageContext, RunView, context_key, page_context
from dmlviz_app.workbench.curves import measured_of, scores_of, step_of
from dmlviz_app.workbench.protocol import BaselineWaitProps, ScriptPreloadProps

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
COUNTS = {
    "queries": ("Queries", "Images that have another image of their class to find."),
    "queries_left_out": ("Queries left out", "Images that are alone in their class; they count in no mean."),
}


@cache
def chart_script() -> str:
    """Return the file name of the script with which Streamlit draws Plotly's figures."""
    return next((Path(st.__file__).parent / "static" / "static" / "js").glob("PlotlyChart.*.js")).name


def curves(page: PageContext) -> None:
    """Render an expander with a figure of the run and step on the map; a fragment, so that the page is not rerun."""
    key, contexts, was_closed = context_key(page), [page], page.ui.curves is None

    @st.fragment
    def drawer() -> None:
        with error_boundary("Curves"):
            context = contexts.pop() if contexts else page_context()
            has_toggled = (context.ui.curves is None) != was_closed  # an open drawer follows the map
            if context.run_view is None or context_key(context)[:2] != key[:2] or has_toggled:
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
    with drawer:
        if ui.curves is None:  # nothing is measured while the drawer is closed
            # Plotly's script takes a second to start, which the first figure would wait for.
            mount("script_preload", key="curves.script", data=ScriptPreloadProps(script=chart_script()))
            return
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
    with error_boundary("The figure"):
        # A rerun by the clock brings the address of a moment ago: a choice made since would be taken back.
        context = page_context(explore.saved_state())
        ui, run_view = context.ui, context.run_view
        was_click = st.session_state.pop(CLICKED, False)  # then the map shows what is selected
        if run_view is None or ui.curves is None or (was_live and not run_view.live) or was_click:
            url_state.rerun()
        step = step_of(run_view, ui.seen.step)
        try:
            if ui.curves == SCORES:
                score_table(*scores_of(run_view.run, step), DATASETS[run_view.run.config.dataset].said)
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
        _show(context, run_view, measured, figure, beside.work)


def _queries(run_view: RunView, step: int | None) -> None:
    points = images(run_view.run, step=step)
    if run_view.pictures is None:
        st.caption("The pictures of this data set are not on disk here: train on it once.")
    else:
        random_queries(points, run_view.pictures)


def _beside(context: PageContext) -> BaselineCurves:
    """Return the baselines of the figure; none while a training needs the processor, or without pictures."""
    run_view, services = context.run_view, context.services
    if run_view is None or run_view.live or run_view.pictures is None or context.ui.curves not in MEASURES:
        return BaselineCurves([], [])
    tracked = step_of(run_view, context.ui.seen.step) is not None
    return baseline_curves(run_view.run, run_view.pictures, tracked, services)


def _show(context: PageContext, run_view: RunView, measured: Measured, figure: "go.Figure", work: list[str]) -> None:
    """Render the figure, with its title and summary beside it.

    Args:
        context: State of the page.
        run_view: The run.
        measured: Its data in the figure.
        figure: The figure.
        work: IDs of the work that measures further baselines.
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
        clickable: dict[str, Any] = (
            {"on_select": action(key, "The click", on_click), "selection_mode": "points"} if name in CLICKABLE else {}
        )
        # In Streamlit's theme ground, lines and words follow a change of the page's at once; its words are in page.css.
        st.plotly_chart(
            figure, theme="streamlit", config=PLOTLY_CONFIG, key=key, alt=f"{title}. {description}.", **clickable
        )
        action_messages().show(key)
    with right:
        st.markdown(f"**{title}**")
        said = DATASETS[run_view.run.config.dataset].said
        st.caption(with_terms(said(f"{description}.\n\n{FIGURES[name].summary}")))
        if work:
            # The page waits for the work, and has the figure drawn anew: a rerun by the clock can swallow a click.
            data = BaselineWaitProps(work=work)
            mount("baseline_wait", key="curves.baselines", data=data, reruns=True)
        if name in LOGARITHMIC:
            st.toggle("Logarithmic false positive rate", key=LOG_X)
        behind = st.session_state.get(BEHIND)
        if behind is not None and behind[0] == ui.seen.selected:
            st.caption(said(f"**Selected:** {behind[1]}."))
        elif name in CLICKABLE:
            what = "cell" if name == "confusion_matrix" else "point"
            st.caption(f"Click a {what} to select what is behind it.")


def images_behind_point(name: str, points: Images, measured: Measured, point: dict[str, Any]) -> ImagesBehind:
    """Return the images behind a clicked point of a figure, from Streamlit's event; the first trace is its own."""
    extra = point.get("customdata")
    x = float(str(point["x"] if extra is None or isinstance(extra, list | dict) else extra))
    kind: PairKind = "same" if int(point.get("curve_number", 0)) % 2 else "different"
    return images_behind(name, points, measured, x, kind)


def _select(context: PageContext, run_view: RunView, measured: Measured, point: dict[str, Any]) -> None:
    """Select the images behind a point that was clicked."""
    ui, name = context.ui, str(context.ui.curves)
    points = images(run_view.run, step=step_of(run_view, ui.seen.step))
    behind = images_behind_point(name, points, measured, point)
    ui.select_images(Selection.of(run_view.run.config.dataset, behind.items))
    st.session_state[BEHIND] = ui.seen.selected, behind.text
    st.session_state[CLICKED] = True


def score_table(scores: Mapping[str, float], about: str, said: Callable[[str], str] = str) -> None:
    """Render the scores by family; with held-out classes, those of seen and unseen classes in columns of their own.

    Args:
        scores: Values by the keys of `dmlviz.metrics.evaluate`.
        about: Subject of the scores.
        said: Says what the scores are of, where that is no image.
    """
    groups = list(dict.fromkeys(key.partition("/")[0] for key in scores if "/" in key))
    keys = [key for key in scores if "/" not in key]
    order = [spec.name for spec in METRICS.values()]
    keys.sort(key=lambda key: order.index(spec.name) if (spec := metric_of(key)) is not None else len(order))
    columns = ["Score", "all classes" if groups else "Value", *(f"{group} classes" for group in groups), "What it says"]
    rows = [f"| {' | '.join(columns)} |", f"|---|{'--:|' * (1 + len(groups))}---|"]
    family = ""
    for key in keys:
        spec = metric_of(key)
        title, text = (metric_title(key), spec.summary) if spec is not None else COUNTS.get(key, (key, ""))
        heading = spec.family if spec is not None else "counts"
        if heading != family:
            rows.append(f"| **{heading.capitalize()}** |{' |' * (1 + len(groups))} |")
            family = heading
        if spec is not None and spec.better:
            text += f" {spec.better.capitalize()} is better."
        values = [format_score(key, scores[name]) for name in (key, *(f"{group}/{key}" for group in groups))]
        rows.append(
            f"| {title} | {' | '.join(values)} | :small[{with_terms(said(text), without=spec.name if spec else '')}] |"
        )
    st.caption(f"{about}. The same numbers: `dmlviz evaluate`; `--rerank` re-ranks, `--multi-query 5` pools queries.")
    st.markdown("\n".join(rows))


ROWS, NEIGHBORS = 8, 10  # random queries, and how many of each
SEED = "curves.queries.seed"
WIDTH = 40  # pixels of an image on the page


def random_queries(points: Images, tiles: ImageTiles) -> None:
    """Render random queries, a row each: the query, then its nearest neighbors, framed by whether they are right.

    Args:
        points: Embeddings of a run.
        tiles: The test images.
    """
    seed = st.session_state.setdefault(SEED, 0)
    rows, nearest = rank(points, seed)
    items = np.arange(len(points.labels)) if points.items is None else points.items
    labels = np.asarray(points.labels)
    hits = labels[nearest] == labels[rows, None]
    left, right = st.columns([7, 3])
    with left, st.container(key="random-queries", gap="small"):
        for row, neighbors, is_hit in zip(rows, nearest, hits, strict=True):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                name = points.classes[labels[row]] if points.classes else str(labels[row])
                words = f"{name}: {is_hit.sum()} of {len(is_hit)}"
                width = WIDTH * (1 + len(neighbors))
                image = picture_grid(
                    tiles.images[items[row]], tiles.images[items[neighbors]], is_hit, 1 + len(neighbors)
                )
                picture(image, alt=f"Test image {items[row]:,}, then its nearest neighbors. {words}", width=width)
                st.caption(words, width="content")
    with right:
        st.markdown(f"**{len(rows)} queries at random**")
        st.caption(
            with_terms(
                f"{points.about}. First the query, in a blue frame, then its {nearest.shape[1]} nearest neighbors by "
                f"distance: green of the query's class, red of another. {hits.mean():.0%} of these are right."
            )
        )
        button("Shuffle", key="curves.queries.shuffle", icon=":material/shuffle:", on_click=_shuffle)


def rank(points: Images, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random rows of the embeddings (q), and the rows of the nearest others of each (q × k), nearest first."""
    count = len(points.labels)
    rows = np.random.default_rng(seed).permutation(count)[:ROWS]
    return rows, NearestNeighbors(points.embeddings).others(NEIGHBORS, rows)[1]


def _shuffle() -> None:
    st.session_state[SEED] += 1
