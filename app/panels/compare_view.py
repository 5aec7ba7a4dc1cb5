"""Panels of the Compare page: run pickers, progress, linked maps, score differences."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from app.panels import map_panel
from app.runtime.services import Services
from app.state import compare
from app.state.compare import CompareState, Pair
from app.state.current_view import RunView
from app.widgets import compare_props, component_props
from app.widgets.components import mount
from app.widgets.parameters import bound_widget
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.runs.run import Run

SIDES = ("a", "b")
AGREEMENT_LABELS = {
    "a": "Click a point to see its nearest neighbors in both runs. Click a number in the table, or "
    "select on a map, to list images here.",
    "b": "The same image and its nearest neighbors in the second run.",
}


def run_pickers(ui: CompareState, services: Services, pair: Pair) -> None:
    """Render a select box for each side and the differences between the settings."""
    runs = {run.id: run for run in services.runs.list()}
    left, right = st.columns(2)
    for column, side, label in ((left, "a", "First run"), (right, "b", "Second run")):

        def choose(run: str, side: str = side) -> None:
            ui.notes.clear()
            ui.select(*((run, ui.b) if side == "a" else (ui.a, run)))

        with column:
            bound_widget(
                st.selectbox,
                label,
                f"compare.{side}",
                getattr(ui, side),
                choose,
                options=list(runs),
                format_func=lambda run: _named(runs[run]) if run in runs else "–",
                label_visibility="collapsed",
                placeholder="Choose a run",
            )
    st.caption(_differences_text(pair))


def _named(run: Run) -> str:
    score = run.score("precision_at_1")
    facts = [run.title, f"{run.config.embedding_dim}-d", f"{run.config.steps:,} steps"]
    return " · ".join([*facts, *([] if score is None else [f"P@1 {score:.3f}"])])


def _differences_text(pair: Pair) -> str:
    """Describe how the runs differ, or why they cannot be compared."""
    if pair.b is None:
        data = DATASETS[pair.a.run.config.dataset].title
        return f"No other run of {data} yet: train one here (Change one setting) or in Explore."
    if not pair.same_dataset:
        one, other = (DATASETS[shown.run.config.dataset].title for shown in (pair.a, pair.b))
        return (
            f":orange[The first run is of {one}, the second of {other}: neither their images nor their scores can be "
            "set side by side. Choose two runs of the same data.]"
        )
    a, b = pair.a.run.config, pair.b.run.config
    parts = [f"{name} {one} → {other}" for name, one, other in compare.differences(a, b)]
    differ = "Same settings" if not parts else f"From first to second: {', '.join(parts)}"
    if a.steps == b.steps:
        return f"{differ}. Maps play in step."
    return (
        f"{differ}. The runs differ in length, so maps are matched by the fraction of training: "
        f"step {a.steps // 2:,} of {a.steps:,} beside step {b.steps // 2:,} of {b.steps:,}."
    )


def progress(ui: CompareState, services: Services, pair: Pair) -> None:
    """Render the progress of the run that trains, if one does."""
    live = compare.running_side(pair)
    if live is not None:
        map_panel.progress_panel(compare.to_explore_state(live, ui), services, live)


def map_pair(ui: CompareState, services: Services, seen: Pair) -> None:
    """Render both maps, and below them scores, agreement and neighbors."""
    here = compare.resolve_pair(ui, services, None)
    if here is None or compare_footer(here) != compare_footer(seen):
        st.rerun()
    columns = st.columns(2)
    for column, side, one in zip(columns, SIDES, (here.a, here.b), strict=True):
        if one is None:
            continue
        with column:
            mount(
                "map",
                key=f"map.{side}",
                data=compare_props.map_data(one, ui, here.same_dataset),
                on_pinned_change=_copy_from_map(ui, f"map.{side}", "pinned"),
                on_selected_change=lambda: None,
                on_ended_change=lambda: None,
            )
    if not here.same_dataset:
        return
    table, *panels = st.columns([4, 3, 3])
    with table:
        mount("compare_scores", key="compare_scores", data=compare_props.versus_data(here))
    for column, side, one in zip(panels, SIDES, (here.a, here.b), strict=True):
        if one is not None:
            with column:
                data = _neighbors(ui, one, side)
                mount(
                    "inspector",
                    key=f"inspector.{side}",
                    data=data,
                    on_pin_change=_copy_from_map(ui, f"inspector.{side}", "pin"),
                )


def compare_footer(pair: Pair) -> list[tuple[Any, ...] | None]:
    """Key of the pair on the page: where it changes, the whole page is rerun."""
    return [
        None if one is None else (one.run.id, one.live, one.complete, component_props.run_version(one))
        for one in (pair.a, pair.b)
    ]


def _neighbors(ui: CompareState, one: RunView, side: str) -> dict[str, Any]:
    try:
        if ui.pinned is not None:
            near = one.run.neighbors(ui.pinned, 10)
            data = component_props.pinned_data(one, compare.to_explore_state(one, ui), ui.pinned, near)
            return data | {"metric": "", "sheet": side == "a"}
    except UserError:  # not embedded at this step
        pass
    return {"placeholder": AGREEMENT_LABELS[side], "sheet": side == "a"}


def _copy_from_map(ui: CompareState, key: str, name: str) -> Callable[[], None]:
    def changed() -> None:
        ui.pinned = st.session_state[key].get(name)

    return changed
