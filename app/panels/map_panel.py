"""Map panel: map, progress, scores, loss curve."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from app.panels import inspector, projection_picker
from app.payloads.query import QueryResult
from app.runtime.services import Services
from app.state.current_view import RunView
from app.state.explore import UIState
from app.state.explore_options import OURS, is_color
from app.state.selection import Selection
from app.widgets import component_props
from app.widgets.components import mount
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.embedding_file import UNLABELED
from dmlviz.errors import UserError
from dmlviz.runs.neighbor_search import Neighbor
from dmlviz.training.suggestions import SUGGESTIONS, suggestions

SECOND_MAP, SECOND_PROGRESS = "map.second", "progress.second"  # of the other engine's map
LINK = {"link": "engines", "links_views": False}  # of different maps, places and iterations cannot be compared


def progress_panel(
    ui: UIState,
    services: Services,
    run_view: RunView,
    key: str = "progress",
    on_leave: Callable[[], None] | None = None,
) -> None:
    """How far the run (or the projection) is, with its own Stop.

    Args:
        ui: What the page shows.
        services: The session's services.
        run_view: The run, with the projection if that is meant.
        key: Of the component.
        on_leave: Leaves the view when its projection is canceled; by default for the view before.
    """
    status = run_view.status if run_view.drawing_status is None else run_view.drawing_status
    running = run_view.drawing_live if run_view.drawing is not None else run_view.live

    projection_config = run_view.drawing.config if run_view.drawing is not None else None

    def stop() -> None:
        projection = run_view.drawing.id if run_view.drawing is not None else None
        services.jobs.stop(run_view.run.id, projection)

    def resume() -> None:
        ui.messages.clear()
        projection_picker.start_projection(ui, services, run_view, resume=True)

    def cancel() -> None:
        stop()
        ui.messages.clear()
        (on_leave or ui.restore_view)()

    mount(
        "progress",
        key=key,
        data=component_props.run_source(run_view)
        | {
            "title": run_view.run.title if projection_config is None else projection_config.declared.title,
            "phase": status.phase,
            "position": status.position,
            "of": status.of,
            "reason": status.reason,
            "machine": run_view.machine if projection_config is None else "",
            "lost": status.lost,
            "running": running,
            "drawing": projection_config is not None,
            "pausable": projection_config is not None and projection_config.resumable,
            "waits_for_pictures": run_view.pictures is None,
        },
        on_stop_change=stop,
        on_resume_change=resume,
        on_cancel_change=cancel,
        on_refresh_change=lambda: None,
    )


def map_views(
    ui: UIState, services: Services, run_view: RunView, neighbors: list[Neighbor], answer: QueryResult | None
) -> None:
    """Render the map; beside it the same projection by the other engine, where that is asked for."""
    if run_view.second is None:
        map_view(ui, services, run_view, neighbors, answer)
        return
    left, right = st.columns(2, vertical_alignment="bottom")  # of their own, so that the maps stand at one height
    with left:
        _headline(run_view)
    with right:
        _headline(run_view.second, run_view)
        if run_view.second.drawing_live:
            progress_panel(ui, services, run_view.second, SECOND_PROGRESS, lambda: setattr(ui, "beside", False))
    left, right = st.columns(2)
    with left:
        map_view(ui, services, run_view, neighbors, answer, linked=True)
    with right:
        _second_map(ui, run_view.second, neighbors, answer)


def _headline(run_view: RunView, beside: RunView | None = None) -> None:
    """Say by what and how a map is drawn, and which value of the map `beside` it could not take over."""
    assert run_view.drawing is not None
    config = run_view.drawing.config
    parameters = ", ".join(f"{name.replace('_', ' ')} {_brief(value)}" for name, value in config.params.items())
    program = config.declared.name if config.engine != OURS else OURS
    st.caption(f"**{program}** · {parameters}, seed {config.seed}{_not_shared(run_view, beside)}")


def _not_shared(run_view: RunView, beside: RunView | None) -> str:
    if beside is None or beside.drawing is None or run_view.drawing is None:
        return ""
    ours, theirs = run_view.drawing.config, beside.drawing.config
    values = {name: theirs.params[name] for name in ours.params if name in theirs.params and name != "iterations"}
    lacking = [f"{name} {_brief(value)}" for name, value in values.items() if value != ours.params[name]]
    return "".join(f" · :orange[no {each} here: drawn with the default]" for each in lacking)


def _brief(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value}".removesuffix(".0")


def _second_map(ui: UIState, run_view: RunView, neighbors: list[Neighbor], answer: QueryResult | None) -> None:
    def on_pin() -> None:
        if "pinned" in st.session_state[SECOND_MAP]:
            ui.pinned = st.session_state[SECOND_MAP]["pinned"]

    state = st.session_state.get(SECOND_MAP)
    if state is not None and state.get("pinned") != ui.pinned:
        state["pinned"] = ui.pinned
    mount(
        "map",
        key=SECOND_MAP,
        data=component_props.map_data(run_view, ui, neighbors, answer) | LINK,
        on_pinned_change=on_pin,
        on_color_change=lambda: _take_color(ui, SECOND_MAP),
        on_selected_change=lambda: _take_selection(ui, run_view, SECOND_MAP),
        on_ended_change=lambda: None,
    )


def _take_color(ui: UIState, key: str) -> None:
    color = st.session_state[key].get("color")
    ui.color = color if is_color(color) else ui.color


def _take_selection(ui: UIState, run_view: RunView, key: str) -> None:
    values = st.session_state[key]
    if "selected" not in values:
        return
    ui.selected = Selection(run_view.run.config.dataset, values["selected"]["bits"]) if values["selected"] else None
    if ui.selected is not None:  # what is selected is shown where what is pinned is
        st.session_state[inspector.KEY] = inspector.SIDES[0]


def map_view(
    ui: UIState,
    services: Services,
    run_view: RunView,
    neighbors: list[Neighbor],
    answer: QueryResult | None,
    *,
    linked: bool = False,
) -> None:
    """Render the map; what a person does on a linked one happens on the other too."""

    def on_pin() -> None:
        values = st.session_state["map"]
        if "pinned" in values:  # another value that the map sets comes without those that Python set
            ui.pinned = values["pinned"]

    def on_step() -> None:
        ui.step = st.session_state["map"].get("step")

    def on_remedy() -> None:
        remedy = st.session_state["map"].get("remedy") or {}
        choices = suggestions(remedy["alarm"], run_view.run.config) if remedy.get("alarm") in SUGGESTIONS else []
        if isinstance(remedy.get("index"), int) and 0 <= remedy["index"] < len(choices):
            ui.load(run_view.run.config.replace(**choices[remedy["index"]].changes))

    def on_subset() -> None:
        wish = st.session_state["map"].get("subset")
        if wish is not None:
            _project_subset(ui, services, run_view, wish["bits"])

    state = st.session_state.get("map")
    if state is not None and state.get("pinned") != ui.pinned:
        state["pinned"] = ui.pinned
    if state is not None and state.get("step") != ui.step:
        state["step"] = ui.step
    bits = None if ui.selected is None else ui.selected.bits
    if state is not None and (state.get("selected") or {}).get("bits") != bits:
        state["selected"] = bits and {"bits": bits}
    mount(
        "map",
        key="map",
        data=component_props.map_data(run_view, ui, neighbors, answer)
        | {"projects": run_view.complete}
        | (LINK if linked else {}),
        on_pinned_change=on_pin,
        on_color_change=lambda: _take_color(ui, "map"),
        on_selected_change=lambda: _take_selection(ui, run_view, "map"),
        on_step_change=on_step,
        on_ended_change=lambda: None,
        on_remedy_change=on_remedy,
        on_subset_change=on_subset,
    )


def _project_subset(ui: UIState, services: Services, run_view: RunView, bits: str | None) -> None:
    """Project these test images alone, or all again; where that is not possible, say why and change nothing."""
    ui.messages.clear()
    before = ui.view, ui.previous_view, ui.subset, ui.whole_view
    if bits is None:
        ui.show_whole()
    else:
        ui.project_subset(Selection(run_view.run.config.dataset, bits))
    try:
        config = ui.projection()
        if config is not None:
            services.jobs.project(run_view.run.id, config, resume=True)
    except UserError as error:
        ui.messages.append(str(error))
        ui.view, ui.previous_view, ui.subset, ui.whole_view = before


def scores_panel(run_view: RunView) -> None:
    """Render scores and loss curve; the run's events update both."""
    if run_view.run.config.views_note:
        st.caption(run_view.run.config.views_note)
    spec = DATASETS[run_view.run.config.dataset]
    if run_view.complete and not spec.trainable and not run_view.run.recorded and not run_view.run.metrics:
        if spec.classes == (UNLABELED,):
            reason = "they have no labels"
        else:
            reason = "they are all of one class" if len(spec.classes) < 2 else "there are too many to compare all"
        st.caption(f"No scores of these embeddings: {reason}.")
        return
    left, right = st.columns([3, 2])
    data = component_props.run_source(replace(run_view, drawing=None))
    with left:
        mount("scores", key="scores", data=data)
    with right:
        mount("loss_curve", key="loss_curve", data=data)
    mount("detail", key="detail", data=data | component_props.sprite_props(run_view))
