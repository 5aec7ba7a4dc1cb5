"""Panels of the Compare page: run pickers, progress, linked maps, score differences."""

from functools import partial

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.glossary import with_terms
from dmlviz.runs.run import LIVE, Run
from dmlviz.storage.text import counted
from dmlviz_app.compare import props as compare_props
from dmlviz_app.compare import state as compare
from dmlviz_app.compare.state import SIDES, Compared, CompareState
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.server.services import Services
from dmlviz_app.workbench.component_props import workbench
from dmlviz_app.workbench.current_view import RunView, view_titles
from dmlviz_app.workbench.progress_panel import progress_panel

SAME_RUN = "The same run, another map"
MAP_PICKER = 150  # pixels


def run_pickers(ui: CompareState, services: Services, pair: Compared) -> None:
    """Render a select box for the run and the map of each of two sides; how the settings differ."""
    if len(pair.views) > 2:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(_of_many(pair))
            _map_picker(ui, pair, "a", "Map of all runs")
        return
    runs = {run.id: run for run in services.runs.list()}
    left, right = st.columns(2)
    for column, side, label in ((left, "a", "First"), (right, "b", "Second")):

        def choose(run: str, side: str = side) -> None:
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


def choice_of_runs(ui: CompareState, services: Services, pair: Compared) -> None:
    """Render the choice of up to six runs of the data set."""
    runs = {run.id: run for run in services.runs.list() if run.config.dataset == pair.a.run.config.dataset}

    def choose(chosen: list[str]) -> None:
        if len(chosen) > 1:
            ui.select_all(chosen)

    bound_widget(
        st.multiselect,
        pair.a.run.config.dataset_spec.said(f"Or choose 2 to {len(SIDES)} runs of these images"),
        "compare.runs",
        list(dict.fromkeys(view.run.id for view in pair.views if view.run.id in runs)),
        choose,
        options=list(runs),
        format_func=lambda run: _run_label(runs[run]),
        max_selections=len(SIDES),
    )


def _map_picker(ui: CompareState, pair: Compared, side: str, label: str) -> None:
    """Render a select box for the map of one side."""
    run_view = pair.a if side == "a" else pair.b
    if run_view is None or not (run_view.complete or run_view.live):
        return
    titles = view_titles(run_view.run)

    def choose(view: str) -> None:
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
    facts = [run.title, f"{run.config.embedding_dim}-d", counted(run.steps, "step") if run.steps else "imported"]
    return " · ".join([*facts, *([] if score is None else [f"P@1 {score:.3f}"])])


def _of_many(pair: Compared) -> str:
    """Describe how more than two runs differ."""
    if not pair.same_dataset:
        return ":orange[These runs are of different data sets, so that neither images nor scores can be compared.]"
    first = pair.a.run.config
    names = {with_terms(name) for view in pair.views for name, _, _ in compare.differences(first, view.run.config)}
    is_one = len({view.run.config.seed for view in pair.views}) == 1
    same = " One seed: where nets are alike, so is their start." if is_one else ""
    return f"The runs differ in {', '.join(sorted(names)) or 'nothing'}.{same}"


def _differences_text(pair: Compared) -> str:
    """Describe how the runs differ, or why they cannot be compared."""
    if pair.b is None:
        data = DATASETS[pair.a.run.config.dataset]
        how = "train one here (Change one setting) or in Explore" if data.trainable else "record one of the same images"
        return f"No other run of {data.title} yet: {how}."
    if not pair.same_dataset:
        first, second = (DATASETS[run_view.run.config.dataset].title for run_view in pair.views)
        return (
            f":orange[The first run is of {first}, the second of {second}: neither images nor scores can be "
            "compared. Choose two runs of the same data set.]"
        )
    if pair.same_run:
        return with_terms(
            "Two maps of the same embeddings, each with its usual parameters. What you hover, pin or select on one is "
            "marked on the other."
        )
    a, b = pair.a.run.config, pair.b.run.config
    parts = [f"{with_terms(name)} {first} → {second}" for name, first, second in compare.differences(a, b)]
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


def progress(ui: CompareState, services: Services, pair: Compared) -> None:
    """Render the progress of the run that trains, if one does, and of each map that is being drawn."""
    live = compare.running_side(pair)
    if live is not None:
        progress_panel(compare.to_explore_state(live), services, live)
    for side, run_view in zip(SIDES, pair.views, strict=False):
        if _is_unfinished(run_view):
            state, key = compare.to_explore_state(run_view), f"progress.{side}"
            progress_panel(state, services, run_view, key, partial(setattr, ui, f"view_{side}", LIVE))


def _is_unfinished(run_view: RunView) -> bool:
    if run_view.projection is None or run_view.follows:  # whose training has its own progress
        return False
    return run_view.projection_live or run_view.projection.resume_state is not None


def linked_maps(ui: CompareState, pair: Compared) -> None:
    """Render the maps, and below them scores, agreement and neighbors."""
    workbench(
        "compare.workbench",
        compare_props.workbench_props(ui, pair),
        lambda view: setattr(compare.saved_state(), "seen", view),
    )
