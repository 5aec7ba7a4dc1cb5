"""Map panel: map, progress, scores, loss curve."""

from dataclasses import replace
from typing import Any

import streamlit as st

from app import media
from app.panels import inspector, projection_picker
from app.payloads.query import QueryResult
from app.runtime.event_stream import LIVE_PHASES
from app.runtime.services import Services
from app.runtime.session_owner import session_owner
from app.state.current_view import RunView
from app.state.explore import COLOR_MODES, UIState
from app.state.selection import Selection
from app.widgets import component_props
from app.widgets.components import mount
from app.widgets.error_boundary import error_boundary
from dmlviz.runs.run import EventLogDir, Neighbor
from dmlviz.training.diagnostics import SUGGESTIONS, suggestions

POLL_INTERVAL_S = 1.0  # seconds between two looks where the host does not pass /api


def progress_panel(ui: UIState, services: Services, shown: RunView, routes: bool) -> None:
    """How far the run (or the projection) is, with its own Stop; without routes also what brings the events."""
    if routes:
        _progress(ui, services, shown, None)
    else:
        more = shown.drawing_live if shown.drawing is not None else shown.live
        more = more or _fed(shown) < len(_record(shown).events())
        st.fragment(_polled, run_every=POLL_INTERVAL_S if more else None)(ui, services, shown, more)


def _progress(ui: UIState, services: Services, shown: RunView, fallback: dict[str, Any] | None) -> None:
    status = shown.status if shown.drawing_status is None else shown.drawing_status
    running = shown.drawing_live if shown.drawing is not None else shown.live

    wanted = shown.drawing.config if shown.drawing is not None else None

    def stop() -> None:
        projection = shown.drawing.id if shown.drawing is not None else None
        services.jobs.stop(shown.run.id, projection, session_owner())

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
        data=component_props.run_source(shown, fallback is None)
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
            "fallback": fallback,
        },
        default={"fed": None},
        on_stop_change=stop,
        on_resume_change=resume,
        on_cancel_change=cancel,
        on_fed_change=lambda: None,
        on_refresh_change=lambda: None,
    )


def _polled(ui: UIState, services: Services, shown: RunView, timed: bool) -> None:
    with error_boundary():
        projection = shown.drawing.id if shown.drawing is not None else None
        running = services.jobs.status(shown.run.id, projection).phase in LIVE_PHASES
        fed = _fed(shown)
        news = media.poll(_record(shown), running, fed)
        _progress(ui, services, shown, {"stream": component_props.stream_key(shown)} | news)
        if timed and not news["more"] and fed == news["from"] + len(news["events"]) - 1:
            st.rerun()  # all is told: the page stops asking


def _record(shown: RunView) -> EventLogDir:
    return shown.drawing or shown.run


def _fed(shown: RunView) -> int:
    """How many events of what is shown the page says it has taken."""
    said = st.session_state.get("progress", {}).get("fed") or {}
    return int(said.get("count", 0)) if said.get("stream") == component_props.stream_key(shown) else 0


def map_view(ui: UIState, shown: RunView, neighbors: list[Neighbor], answer: QueryResult | None, routes: bool) -> None:
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
        data=component_props.map_data(shown, ui, neighbors, answer, routes),
        on_pinned_change=pinned,
        on_color_change=colored,
        on_selected_change=selected,
        on_step_change=left_standing,
        on_ended_change=lambda: None,
        on_remedy_change=remedied,
        on_routes_change=lambda: None,
    )


def scores_panel(shown: RunView, routes: bool) -> None:
    """Render scores and loss curve; the run's events update both."""
    left, right = st.columns([3, 2])
    data = component_props.run_source(replace(shown, drawing=None), routes)
    with left:
        mount("scores", key="scores", data=data)
    with right:
        mount("loss_curve", key="loss_curve", data=data)
    if routes:
        mount("detail", key="detail", data=data | component_props.sprite_props(shown, routes))
