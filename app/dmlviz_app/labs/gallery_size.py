"""The lab *Who is it?* with a gallery that grows: the same queries among more and more identities."""

import streamlit as st

from dmlviz.labs.lab import FigureSpec
from dmlviz.labs.reid import GALLERY_SIZES, size_rows
from dmlviz.studies.trial import TrialResult
from dmlviz_app.labs.state import LabView
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.workbench.curves_panel import PLOTLY_CONFIG

KEY = "lab.gallery_size"
FEWEST = 10  # identities: among fewer, one query is several percent
HEIGHT = 300  # pixels


def gallery_size(services: Services, view: LabView) -> None:
    """Render a slider for the number of identities, and the scores of every net at that size."""
    results = view.study.results() if view.study is not None else []
    if not size_rows(results, GALLERY_SIZES[0]):
        return
    st.markdown("#### A gallery that grows")

    @st.fragment
    def slider() -> None:
        with error_boundary("The gallery"):
            _scores(results)

    slider()


def _scores(results: list[TrialResult]) -> None:
    most = GALLERY_SIZES[-1]
    size = st.slider("Identities in the gallery", FEWEST, most, most, key=f"{KEY}.slider", width=480)
    rows = size_rows(results, size)
    spec = FigureSpec(
        name=rows[0].figure,
        title=f"{size} identities",
        caption=f"{2 * size:,} queries of camera 0 among the {6 * size:,} pictures of {size} identities on the other "
        "cameras. Several seeds (n): the mean with a 95% t-interval.",
        kind="bar",
        x_title="loss",
        y_title="score",
    )
    from dmlviz.labs.drawing import draw

    figure = draw(spec, rows, dark=st.context.theme.type == "dark")
    # One axis for all sizes, so that the bars are seen to shrink.
    figure.update_layout(title=None, margin={"l": 64, "r": 16, "t": 12, "b": 92}, height=HEIGHT, yaxis_range=[0, 1])
    st.plotly_chart(figure, theme="streamlit", config=PLOTLY_CONFIG, key=f"{KEY}.chart", alt=spec.caption)
    best = max((row for row in rows if row.series == "rank-1"), key=lambda row: row.y)
    st.caption(f"{spec.caption} The best here, {best.x}, finds {best.y:.1%} at rank 1.")
