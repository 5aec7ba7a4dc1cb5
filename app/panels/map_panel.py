"""Map panel: map, progress, scores, loss curve."""

from dataclasses import replace

import streamlit as st

from app.panels import inspector, projection_picker
from app.payloads.query import QueryResult
from app.runtime.services import Services
from app.state.current_view import RunView
from app.state.explore import COLOR_MODES, UIState
from app.state.selection import Selection
from app.widgets import component_props
from app.widgets.components import mount
from dmlviz.runs.run import Neighbor
from dmlviz.training.diagnostics import SUGGESTIONS, suggestions


def progress_panel(ui: UIState, services: Services, shown: RunView) -> None:
    """How far the run (or the projection) is, with its own Stop."""
    status = shown.status if shown.drawing_status is None else shown.drawing_status
    running = shown.drawing_live if shown.drawing is not None else shown.live

    wanted = shown.drawing.config if shown.drawing is not None else None

    def stop() -> None:
        projection = shown.drawing.id if shown.drawing is not None else None
        services.jobs.stop(shown.run.id, projection)

    def resume() -> None:
        ui.messages.clear()
        projection_picker.start_projection(ui, services, shown, resume=True)

    def cancel() -> None:
        stop()
        ui.messages.clear()
        ui.restore_view()

    mount(
        "progress",
        key="progress",
        data=component_props.run_source(shown)
        | {
            "title": shown.run.title if wanted is None else wanted.declared.title,
            "phase": status.phase,
            "position": status.position,
            "of": status.of,
            "reason": status.reason,
            "running": running,
            "drawing": wanted is not None,
            "pausable": wanted is not None and wanted.resumable,
            "waits_for_pictures": shown.pictures is None,
        },
        on_stop_change=stop,
        on_resume_change=resume,
        on_cancel_change=cancel,
        on_refresh_change=lambda: None,
    )


def map_view(ui: UIState, shown: RunView, neighbors: list[Neighbor], answer: QueryResult | None) -> None:
    """Render the map."""

    def pinned() -> None:
        said = st.session_state["map"]
        if "pinned" in said:  # another value that the map sets comes without those that Python set
            ui.pinned = said["pinned"]

    def colored() -> None:
        chosen = st.session_state["map"].get("color")
        ui.color = chosen if chosen in COLOR_MODES else ui.color

    def left_standing() -> None:
        ui.step = st.session_state["map"].get("step")

    def selected() -> None:
        said = st.session_state["map"]
        if "selected" not in said:
            return
        ui.selected = Selection(shown.run.config.dataset, said["selected"]["bits"]) if said["selected"] else None
        if ui.selected is not None:  # what is selected is shown where what is pinned is
            st.session_state[inspector.KEY] = inspector.SIDES[0]

    def remedied() -> None:
        chosen = st.session_state["map"].get("remedy") or {}
        offered = suggestions(chosen["alarm"], shown.run.config) if chosen.get("alarm") in SUGGESTIONS else []
        if isinstance(chosen.get("index"), int) and 0 <= chosen["index"] < len(offered):
            ui.load(shown.run.config.replace(**offered[chosen["index"]].changes))

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
        data=component_props.map_data(shown, ui, neighbors, answer),
        on_pinned_change=pinned,
        on_color_change=colored,
        on_selected_change=selected,
        on_step_change=left_standing,
        on_ended_change=lambda: None,
        on_remedy_change=remedied,
    )


def scores_panel(shown: RunView) -> None:
    """Render scores and loss curve; the run's events update both."""
    left, right = st.columns([3, 2])
    data = component_props.run_source(replace(shown, drawing=None))
    with left:
        mount("scores", key="scores", data=data)
    with right:
        mount("loss_curve", key="loss_curve", data=data)
    mount("detail", key="detail", data=data | component_props.sprite_props(shown))
