"""Panels of the Compare page: run pickers, progress, linked maps, score differences."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from app.panels import map_panel, map_quality
from app.runtime import url_state
from app.runtime.services import Services
from app.state import compare
from app.state.compare import CompareState, Pair
from app.state.current_view import RunView, view_titles
from app.widgets import compare_props, component_props
from app.widgets.components import mount
from app.widgets.parameters import bound_widget
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.runs.run import LIVE, Run

SIDES = ("a", "b")
SAME_RUN = "The same run, another map"
MAP_PICKER = 150  # pixels
AGREEMENT_LABELS = {
    "a": "Click a point to see its nearest neighbors in both runs. Click a number in the table, or "
    "select on a map, to list images here.",
    "b": "The same image and its nearest neighbors in the second run.",
}
ONE_RUN_LABEL = "Click a point to see its nearest neighbors in the embedding, or select on a map to list images here."


def run_pickers(ui: CompareState, services: Services, pair: Pair) -> None:
    """Render a select box for the run and the map of each side, and the differences between the settings."""
    runs = {run.id: run for run in services.runs.list()}
    left, right = st.columns(2)
    for column, side, label in ((left, "a", "First"), (right, "b", "Second")):

        def choose(run: str, side: str = side) -> None:
            ui.notes.clear()
            if run == SAME_RUN or (side == "a" and pair.same_run):
                ui.select_twice(pair.a.run if run == SAME_RUN else runs[run])
            else:
                if pair.same_run:
                    ui.view_a = ui.view_b = LIVE
                ui.select(*((run, ui.b) if side == "a" else (ui.a, run)))

        is_same = side == "b" and pair.same_run
        with column, st.container(horizontal=True, gap="small"):
            bound_widget(
                st.selectbox,
                f"{label} run",
                f"compare.{side}",
                SAME_RUN if is_same else getattr(ui, side),
                choose,
                options=[*([SAME_RUN] if side == "b" else []), *runs],
                format_func=lambda run: _run_label(runs[run]) if run in runs else SAME_RUN,
                label_visibility="collapsed",
                placeholder="Choose a run",
                width="stretch",
            )
            _map_picker(ui, pair, side, f"{label} map")
    st.caption(_differences_text(pair))


def _map_picker(ui: CompareState, pair: Pair, side: str, label: str) -> None:
    """Render a select box for the map of one side; maps wait for the end of a run."""
    run_view = pair.a if side == "a" else pair.b
    if run_view is None or not run_view.complete:
        return
    titles = view_titles(run_view.run)

    def choose(view: str) -> None:
        ui.notes.clear()
        setattr(ui, f"view_{side}", view)

    bound_widget(
        st.selectbox,
        label,
        f"compare.view_{side}",
        ui.views[side],
        choose,
        options=list(titles),
        format_func=titles.__getitem__,
        label_visibility="collapsed",
        width=MAP_PICKER,
    )


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
    if pair.same_run:
        return (
            "Two maps of the same embeddings, each with its usual parameters. What you hover, pin or select on one is "
            "marked on the other."
        )
    a, b = pair.a.run.config, pair.b.run.config
    parts = [f"{name} {first} → {second}" for name, first, second in compare.differences(a, b)]
    differ = "Same settings" if not parts else f"From first to second: {', '.join(parts)}"
    if pair.a.run.recorded and not parts:
        differ = "Two trainings of another program"
    first_steps, second_steps = pair.a.run.steps, pair.b.run.steps
    if not pair.same_view:
        return f"{differ}."
    if first_steps == second_steps:
        return f"{differ}. Maps play in step."
    return (
        f"{differ}. The runs differ in length, so maps are matched by the fraction of training: "
        f"step {first_steps // 2:,} of {first_steps:,} beside step {second_steps // 2:,} of {second_steps:,}."
    )


def progress(ui: CompareState, services: Services, pair: Pair) -> None:
    """Render the progress of the run that trains, if one does, and of each map that is being drawn."""
    live = compare.running_side(pair)
    if live is not None:
        map_panel.progress_panel(compare.to_explore_state(live, ui), services, live)
    for side, run_view in zip(SIDES, (pair.a, pair.b), strict=True):
        if run_view is not None and run_view.drawing is not None and _is_unfinished(run_view):
            state, key = compare.to_explore_state(run_view, ui), f"progress.{side}"
            map_panel.progress_panel(state, services, run_view, key, partial(setattr, ui, f"view_{side}", LIVE))


def _is_unfinished(run_view: RunView) -> bool:
    return run_view.drawing is not None and (run_view.drawing_live or run_view.drawing.resume_state is not None)


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
                data=compare_props.map_data(run_view, ui, pair),
                on_pinned_change=_copy_from_map(ui, f"map.{side}", "pinned"),
                on_selected_change=lambda: None,
                on_ended_change=lambda: None,
            )
    if not pair.same_dataset:
        return
    table, *panels = st.columns([4, 3, 3])
    with table:
        if not pair.same_view:
            map_quality.map_quality_table([run_view for run_view in (pair.a, pair.b) if run_view is not None])
        if not pair.same_run:
            mount("compare_scores", key="compare_scores", data=compare_props.versus_data(pair))
    for column, side, run_view in zip(panels, SIDES, (pair.a, pair.b), strict=True):
        if run_view is not None and not (pair.same_run and side == "b"):  # one run has one list of neighbors
            with column:
                data = _neighbors(ui, run_view, side, pair.same_run)
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
        else (
            run_view.run.id,
            run_view.live,
            run_view.complete,
            component_props.run_source(run_view)["view"],
            run_view.drawing_live,
            component_props.run_version(run_view),
        )
        for run_view in (pair.a, pair.b)
    ]


def _neighbors(ui: CompareState, run_view: RunView, side: str, alone: bool) -> dict[str, Any]:
    try:
        if ui.pinned is not None:
            neighbors = run_view.run.neighbors(ui.pinned, 10)
            data = component_props.pinned_data(run_view, compare.to_explore_state(run_view, ui), ui.pinned, neighbors)
            return data | {"metric": "", "comparable": False, "sheet": side == "a"}
    except UserError:  # not embedded at this step
        pass
    return {"placeholder": ONE_RUN_LABEL if alone else AGREEMENT_LABELS[side], "sheet": side == "a"}


def _copy_from_map(ui: CompareState, key: str, name: str) -> Callable[[], None]:
    def copy() -> None:
        ui.pinned = st.session_state[key].get(name)

    return copy
