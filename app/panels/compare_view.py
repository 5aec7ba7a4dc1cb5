"""Panels of the Compare page: run pickers, progress, linked maps, score differences."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from app.panels import map_panel
from app.runtime import url_state
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
                format_func=lambda run: _run_label(runs[run]) if run in runs else "–",
                label_visibility="collapsed",
                placeholder="Choose a run",
            )
    st.caption(_differences_text(pair))


def _run_label(run: Run) -> str:
    score = run.score("precision_at_1")
    facts = [run.title, f"{run.config.embedding_dim}-d", f"{run.steps:,} steps"]
    return " · ".join([*facts, *([] if score is None else [f"P@1 {score:.3f}"])])


def _differences_text(pair: Pair) -> str:
    """Describe how the runs differ, or why they cannot be compared."""
    if pair.b is None:
        data = DATASETS[pair.a.run.config.dataset]
        how = "train one here (Change one setting) or in Explore" if data.trainable else "record one of the same images"
        return f"No other run of {data.title} yet: {how}."
    if not pair.same_dataset:
        first, second = (DATASETS[run_view.run.config.dataset].title for run_view in (pair.a, pair.b))
        return (
            f":orange[The first run is of {first}, the second of {second}: neither images nor scores can be "
            "compared. Choose two runs of the same data set.]"
        )
    a, b = pair.a.run.config, pair.b.run.config
    parts = [f"{name} {first} → {second}" for name, first, second in compare.differences(a, b)]
    differ = "Same settings" if not parts else f"From first to second: {', '.join(parts)}"
    if pair.a.run.recorded and not parts:
        differ = "Two trainings of another program"
    first_steps, second_steps = pair.a.run.steps, pair.b.run.steps
    if first_steps == second_steps:
        return f"{differ}. Maps play in step."
    return (
        f"{differ}. The runs differ in length, so maps are matched by the fraction of training: "
        f"step {first_steps // 2:,} of {first_steps:,} beside step {second_steps // 2:,} of {second_steps:,}."
    )


def progress(ui: CompareState, services: Services, pair: Pair) -> None:
    """Render the progress of the run that trains, if one does."""
    live = compare.running_side(pair)
    if live is not None:
        map_panel.progress_panel(compare.to_explore_state(live, ui), services, live)


def map_pair(ui: CompareState, services: Services, page_pair: Pair) -> None:
    """Render both maps, and below them scores, agreement and neighbors."""
    pair = compare.resolve_pair(ui, services, None)
    if pair is None or compare_footer(pair) != compare_footer(page_pair):
        url_state.rerun()
    columns = st.columns(2)
    for column, side, run_view in zip(columns, SIDES, (pair.a, pair.b), strict=True):
        if run_view is None:
            continue
        with column:
            mount(
                "map",
                key=f"map.{side}",
                data=compare_props.map_data(run_view, ui, pair.same_dataset),
                on_pinned_change=_copy_from_map(ui, f"map.{side}", "pinned"),
                on_selected_change=lambda: None,
                on_ended_change=lambda: None,
            )
    if not pair.same_dataset:
        return
    table, *panels = st.columns([4, 3, 3])
    with table:
        mount("compare_scores", key="compare_scores", data=compare_props.versus_data(pair))
    for column, side, run_view in zip(panels, SIDES, (pair.a, pair.b), strict=True):
        if run_view is not None:
            with column:
                data = _neighbors(ui, run_view, side)
                mount(
                    "inspector",
                    key=f"inspector.{side}",
                    data=data,
                    on_pin_change=_copy_from_map(ui, f"inspector.{side}", "pin"),
                )


def compare_footer(pair: Pair) -> list[tuple[Any, ...] | None]:
    """Key of the pair on the page: where it changes, the whole page is rerun."""
    return [
        None
        if run_view is None
        else (run_view.run.id, run_view.live, run_view.complete, component_props.run_version(run_view))
        for run_view in (pair.a, pair.b)
    ]


def _neighbors(ui: CompareState, run_view: RunView, side: str) -> dict[str, Any]:
    try:
        if ui.pinned is not None:
            neighbors = run_view.run.neighbors(ui.pinned, 10)
            data = component_props.pinned_data(run_view, compare.to_explore_state(run_view, ui), ui.pinned, neighbors)
            return data | {"metric": "", "sheet": side == "a"}
    except UserError:  # not embedded at this step
        pass
    return {"placeholder": AGREEMENT_LABELS[side], "sheet": side == "a"}


def _copy_from_map(ui: CompareState, key: str, name: str) -> Callable[[], None]:
    def copy() -> None:
        ui.pinned = st.session_state[key].get(name)

    return copy
