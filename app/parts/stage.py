"""The map with what moves beside it: progress, readouts, loss curve."""

from dataclasses import replace
from typing import Any

import streamlit as st

from app import feed, media
from app.components import mount
from app.faults import as_sentences
from app.identity import owner
from app.parts import side, views
from app.query import Answer
from app.selection import Selection
from app.services import Services
from app.shown import Shown
from app.state import COLOURS, UIState
from app.streaming import LIVE_PHASES
from dmlviz.alarms import REMEDIES, remedies
from dmlviz.record import Neighbour, Record

POLL = 1.0  # seconds between two looks where the host does not pass /api


def progress(ui: UIState, services: Services, shown: Shown, routes: bool) -> None:
    """How far the run (or the projection) is, with its own Stop; without routes also what brings the events."""
    if routes:
        _progress(ui, services, shown, None)
    else:
        more = shown.drawing_live if shown.drawing is not None else shown.live
        more = more or _fed(shown) < len(_record(shown).events())
        st.fragment(_polled, run_every=POLL if more else None)(ui, services, shown, more)


def _progress(ui: UIState, services: Services, shown: Shown, fallback: dict[str, Any] | None) -> None:
    status = shown.status if shown.drawing_status is None else shown.drawing_status
    running = shown.drawing_live if shown.drawing is not None else shown.live

    wanted = shown.drawing.config if shown.drawing is not None else None

    def stop() -> None:
        projection = shown.drawing.id if shown.drawing is not None else None
        services.jobs.stop(shown.run.id, projection, owner())

    def resume() -> None:
        ui.notes.clear()
        views.draw(ui, services, shown, resume=True)

    def cancel() -> None:
        stop()
        ui.notes.clear()
        ui.back()

    mount(
        "progress",
        key="progress",
        data=feed.source(shown, fallback is None)
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


def _polled(ui: UIState, services: Services, shown: Shown, timed: bool) -> None:
    with as_sentences():
        projection = shown.drawing.id if shown.drawing is not None else None
        running = services.jobs.status(shown.run.id, projection).phase in LIVE_PHASES
        fed = _fed(shown)
        news = media.poll(_record(shown), running, fed)
        _progress(ui, services, shown, {"stream": feed.stream_of(shown)} | news)
        if timed and not news["more"] and fed == news["from"] + len(news["events"]) - 1:
            st.rerun()  # all is told: the page stops asking


def _record(shown: Shown) -> Record:
    return shown.drawing or shown.run


def _fed(shown: Shown) -> int:
    """How many events of what is shown the page says it has taken."""
    said = st.session_state.get("progress", {}).get("fed") or {}
    return int(said.get("count", 0)) if said.get("stream") == feed.stream_of(shown) else 0


def the_map(ui: UIState, shown: Shown, neighbours: list[Neighbour], answer: Answer | None, routes: bool) -> None:
    """The map itself."""

    def pinned() -> None:
        said = st.session_state["map"]
        if "pinned" in said:  # another value that the map sets comes without those that Python set
            ui.pinned = said["pinned"]

    def coloured() -> None:
        chosen = st.session_state["map"].get("colour")
        ui.colour = chosen if chosen in COLOURS else ui.colour

    def left_standing() -> None:
        ui.step = st.session_state["map"].get("step")

    def selected() -> None:
        said = st.session_state["map"]
        if "selected" not in said:
            return
        ui.selected = Selection(shown.run.config.dataset, said["selected"]["bits"]) if said["selected"] else None
        if ui.selected is not None:  # what is selected is shown where what is pinned is
            st.session_state[side.KEY] = side.SIDES[0]

    def remedied() -> None:
        chosen = st.session_state["map"].get("remedy") or {}
        offered = remedies(chosen["alarm"], shown.run.config) if chosen.get("alarm") in REMEDIES else []
        if isinstance(chosen.get("index"), int) and 0 <= chosen["index"] < len(offered):
            ui.adopt(shown.run.config.but(**offered[chosen["index"]].changes))

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
        data=feed.map_data(shown, ui, neighbours, answer, routes),
        on_pinned_change=pinned,
        on_colour_change=coloured,
        on_selected_change=selected,
        on_step_change=left_standing,
        on_ended_change=lambda: None,
        on_remedy_change=remedied,
        on_routes_change=lambda: None,
    )


def scores(shown: Shown, routes: bool) -> None:
    """Readouts and loss curve, both driven by the run's events."""
    left, right = st.columns([3, 2])
    data = feed.source(replace(shown, drawing=None), routes)
    with left:
        mount("readouts", key="readouts", data=data)
    with right:
        mount("curve", key="curve", data=data)
    if routes:
        mount("study", key="study", data=data | feed.pictures(shown, routes))
