"""What maps keep of the embeddings that they show, side by side."""

from collections.abc import Sequence

import streamlit as st

from app.state.current_view import RunView, view_titles
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.runs.run import LIVE

MEASURES = {
    "trustworthiness": "Trustworthiness",
    "continuity": "Continuity",
    "neighbors_kept": "Neighbors kept",
    "distance_correlation": "Distance correlation",
}
NOTE = (
    "1 is a perfect map. The first three say whether near images stay near; the last, Pearson's correlation of all "
    "distances, says whether far ones stay far: the global structure."
)


def map_quality_table(run_views: Sequence[RunView]) -> None:
    """Render the quality of each map, where it has been measured."""
    qualities = [_quality(run_view) for run_view in run_views]
    titles = [_title(run_view) for run_view in run_views]
    rows = [f"| What the map keeps | {' | '.join(titles)} |", f"|---|{'--:|' * len(titles)}"]
    for name, measure in MEASURES.items():
        values = [quality.get(name) for quality in qualities]
        rows.append(f"| {measure} | {' | '.join('–' if value is None else f'{value:.3f}' for value in values)} |")
    st.markdown("\n".join(rows))
    st.caption(NOTE)


def _title(run_view: RunView) -> str:
    return view_titles(run_view.run)[LIVE if run_view.drawing is None else run_view.drawing.config.method]


def _quality(run_view: RunView) -> dict[str, float | None]:
    """The measured values by name; none before a map's end."""
    if run_view.drawing is None and PROJECTIONS[run_view.run.default_view].identity:
        return dict.fromkeys(MEASURES, 1.0)  # the embedding itself
    end = (run_view.run if run_view.drawing is None else run_view.drawing).end
    measured: dict[str, float | None] = (end or {}).get("faithfulness") or {}
    return measured
