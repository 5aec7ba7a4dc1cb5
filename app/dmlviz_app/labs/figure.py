"""The figure of a lab, the pictures behind its points, and the printed values beside it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz.labs.lab import FigureRow, FigureSpec, Lab, PicturePair
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.labs.run import SOURCE_TITLES, describe
from dmlviz_app.labs.state import OWN, READY_MADE, LabsState, LabView, first_figure, view_rows
from dmlviz_app.widgets.pictures import picture
from dmlviz_app.workbench.curves_panel import PLOTLY_CONFIG

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT = 400  # pixels
MAX_NUMBERS = 2  # printed values that are shown as numbers; more of them get a chart
MAX_PICTURES = 12
PICTURE_WIDTH = 84  # pixels
STRIP_WIDTH = 150  # pixels


def results(ui: LabsState, view: LabView) -> None:
    """Render the chosen figure with the results so far, and the pictures behind the chosen point."""
    _source(ui, view)
    ui.messages.show("figure")
    figures = {figure.name: figure for figure in view.lab.figures}
    rows = view_rows(view)
    if view.study is None or not rows:
        words = "The figure grows while the study runs." if view.study is not None else "Nothing has been run yet."
        st.caption(f"{words} {with_terms(view.lab.summary)}")
        return
    name = ui.figure or first_figure(view.lab, rows)
    if len(figures) > 1:
        bound_widget(
            st.segmented_control,
            "Figure",
            "lab.figure",
            name,
            lambda name: _choose_figure(ui, name),
            options=list(figures),
            format_func=lambda name: figures[name].title,
            label_visibility="collapsed",
            required=True,
        )
    spec = figures[name]
    is_covered = not ui.guess
    with st.container(key="lab-covered" if is_covered else "lab-open"):
        _chart(ui, spec, rows, selectable=view.lab.pictures is not None and not is_covered)
    if is_covered:
        st.caption("Guess first: the figure is covered until then.")
    st.caption(with_terms(spec.caption))
    if not is_covered and view.lab.strip is not None:
        _row(view.lab.strip(view.study.results()), STRIP_WIDTH)
    if not is_covered and view.lab.pictures is not None:
        _pictures(ui, view, spec, [row for row in rows if row.figure == spec.name])


def literature(lab: Lab) -> None:
    """Render the printed values, in figures of their own, and the note."""
    if not lab.literature:
        st.markdown(lab.literature_note)
        return
    text, charts = st.columns([3, 8], gap="medium")
    with text:
        st.markdown(lab.literature_note)
        sources = dict.fromkeys(row.source for row in lab.literature)
        st.caption(f"Printed in: {'; '.join(sources)}.")
    with charts:
        specs = {figure.name: figure for figure in lab.all_figures}
        for name in dict.fromkeys(row.figure for row in lab.literature):
            rows = [row for row in lab.literature if row.figure == name]
            if len(rows) <= MAX_NUMBERS:
                _numbers(rows)
                continue
            _show(_draw(specs[name], rows), f"lab.literature.{name}", f"Printed values: {specs[name].title}")
            if lab.printed_figure is not None and name == lab.printed_figure.name:
                st.caption(lab.printed_figure.caption)


def _numbers(rows: Sequence[FigureRow]) -> None:
    """Render values that are too few for a chart."""
    with st.container(horizontal=True, gap="medium"):
        for row in rows:
            st.metric(f"{row.series}: {row.x}", f"{row.y:g}", width="content")


def _source(ui: LabsState, view: LabView) -> None:
    if view.study is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if view.own is not None and view.ready_made is not None:
            bound_widget(
                st.segmented_control,
                "Results",
                "lab.source",
                READY_MADE if view.is_ready_made else OWN,
                lambda source: setattr(ui, "source", source),
                options=[READY_MADE, OWN],
                format_func=lambda source: SOURCE_TITLES[source],
                label_visibility="collapsed",
                required=True,
            )
        st.caption(describe(view.study, view.is_ready_made))


def _choose_figure(ui: LabsState, name: str) -> None:
    ui.figure, ui.point = name, None


def _draw(spec: FigureSpec, rows: Sequence[FigureRow]) -> "go.Figure":
    # Plotly looks for pandas among the loaded modules, and fails on one that another thread is loading: wait for it.
    import pandas  # noqa: F401

    from dmlviz.labs.drawing import draw

    return draw(spec, rows, dark=st.context.theme.type == "dark")


def _chart(ui: LabsState, spec: FigureSpec, rows: Sequence[FigureRow], selectable: bool) -> None:
    key = f"lab.chart.{spec.name}"

    def on_select() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points:
            series, x = points[0]["customdata"][:2]
            ui.point = str(series), str(x)

    options: dict[str, Any] = {"on_select": on_select, "selection_mode": "points"} if selectable else {}
    _show(_draw(spec, rows), key, spec.title, **options)


def _show(figure: "go.Figure", key: str, title: str, **options: Any) -> None:
    about = figure.layout.meta["about"]
    below = 48 if figure.layout.showlegend is False else 92
    figure.update_layout(title=None, margin={"l": 64, "r": 16, "t": 12, "b": below}, height=HEIGHT)
    config = PLOTLY_CONFIG | {"toImageButtonOptions": {"format": "png", "scale": 2, "filename": key}}
    st.plotly_chart(figure, theme="streamlit", config=config, key=key, alt=f"{title}. {about}", **options)


def _pictures(ui: LabsState, view: LabView, spec: FigureSpec, rows: Sequence[FigureRow]) -> None:
    assert view.lab.pictures is not None
    assert view.study is not None
    points = {(row.series, str(row.x)): row for row in rows}
    if not points:
        return
    selection = ui.point if ui.point in points else None
    bound_widget(
        st.selectbox,
        "Pictures behind a point: click it, or choose it here",
        f"lab.point.{spec.name}",
        selection,
        lambda point: setattr(ui, "point", point),
        options=list(points),
        format_func=lambda point: f"{point[0]} · {point[1]}",
        placeholder="Choose a point",
    )
    if selection is None:
        return
    pairs = view.lab.pictures(view.study.results(), spec.name, selection[0], points[selection].x)
    if not pairs:
        st.caption("There are no pictures of this point.")
        return
    large = max(image.shape[1] for pair in pairs for image in pair.images) > PICTURE_WIDTH
    with st.container(key="lab-drawings" if large else "lab-pictures"):
        _row(pairs[:MAX_PICTURES], STRIP_WIDTH if large else PICTURE_WIDTH)


def _row(pairs: Sequence[PicturePair], width: int) -> None:
    """Render pictures, each `width` pixels wide, in a row that wraps."""
    with st.container(horizontal=True, gap="small"):
        for pair in pairs:
            with st.container(width=len(pair.images) * (width + 4), gap=None):
                with st.container(horizontal=True, gap=None):
                    for image in pair.images:
                        picture(image, alt=pair.caption, width=width)
                st.caption(pair.caption)
