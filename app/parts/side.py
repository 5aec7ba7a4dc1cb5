"""Beside the map: the pinned image and its neighbours, or a picture of one's own."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import streamlit as st

from app import feed, query
from app.components import mount
from app.services import Services
from app.shown import Shown
from app.state import UIState
from app.words import plain
from dmlviz.data.declared import DATASETS
from dmlviz.data.query import decode
from dmlviz.errors import UserError
from dmlviz.record import Neighbour

NEIGHBOURS = 10
KEY = "side"
NO_NET = "These vectors came without a net, so no picture can be placed among them."
NO_COLOURS = "The pictures here are in colour, which the pad cannot draw: upload one instead."
SIDES = ("Selected", "Draw", "Upload")
SAMPLES = {"seven": "a seven", "two": "a two", "house": "a house"}
QUERIES = Path(__file__).resolve().parent.parent / "assets" / "queries"
CAMERA = "Camera"  # which browsers allow to pages over https, and to this machine's own


def neighbours_of(ui: UIState, shown: Shown) -> list[Neighbour]:
    """The neighbours of the pinned image; an image that is not embedded yet has none, and that is said."""
    if ui.pinned is None:
        return []
    try:
        return shown.run.neighbours(ui.pinned, NEIGHBOURS, metric=ui.metric)
    except UserError:
        return []


def choice() -> None:
    """What to inspect."""
    st.segmented_control(
        "Inspect",
        (*SIDES, CAMERA) if _may_photograph(st.context.url) else SIDES,
        default=SIDES[0],
        key=KEY,
        label_visibility="collapsed",
        required=True,
        width="stretch",
        persist_state="session",
    )


def side(
    ui: UIState, services: Services, shown: Shown, neighbours: list[Neighbour], routes: bool
) -> query.Answer | None:
    """The inspector: the pinned image and its neighbours, or a picture of one's own. Returns what it said of that."""
    chosen = st.session_state[KEY]
    if chosen == "Selected":
        _selected(ui, shown, neighbours, routes)
        return None
    if not shown.complete:
        st.caption("A picture can be asked about once the run has ended; until then the net changes with every step.")
        return None
    data = DATASETS[shown.run.config.dataset]
    if data.size == 0 or (chosen == "Draw" and data.channels == 3):
        st.caption(NO_NET if data.size == 0 else NO_COLOURS)
        return None
    try:
        picture = _picture(chosen, shown.run.config.dataset)
        if picture is None:
            return None
        answer = query.ask(picture, shown.run, services, NEIGHBOURS)
    except UserError as error:
        st.caption(f":orange[{plain(error)}]")
        return None
    _inspector(ui, feed.answer_data(shown, answer, routes) | {"below": chosen})
    return answer


def _selected(ui: UIState, shown: Shown, neighbours: list[Neighbour], routes: bool) -> None:
    if ui.pinned is None or not neighbours:
        words = "Click a point of the map: its nearest test images in the embedding appear here, with their distances."
        if ui.pinned is not None:
            words = f"Test image {ui.pinned:,} is not embedded at this step; all test images are at the end of the run."
        _inspector(ui, {"placeholder": words})
    else:
        _inspector(ui, feed.pinned_data(shown, ui, ui.pinned, neighbours, routes))


def _drawing() -> np.ndarray | None:
    pad = mount("pad", key="pad", data={"hint": "Draw here"}, default={"drawing": None}, on_drawing_change=lambda: None)
    return query.drawn(pad.drawing)


def _may_photograph(url: str | None) -> bool:
    parts = urlsplit(url or "")
    return parts.scheme == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1")


def _picture(chosen: str, dataset: str) -> np.ndarray | None:
    if chosen == "Draw":
        return _drawing()
    if chosen == "Upload":
        return _upload(dataset)
    photograph = st.camera_input("A photograph", key="camera", label_visibility="collapsed")
    return None if photograph is None else decode(photograph.getvalue(), dataset)


def _upload(dataset: str) -> np.ndarray | None:
    """A file, or what was pasted after it."""
    pasted = st.session_state.get("paste", {}).get("picture")
    file = st.file_uploader(
        "A picture",
        type=["png", "jpg", "jpeg", "webp"],
        max_upload_size=2,
        key=f"upload.{query.pasted_number(pasted)}",  # a paste takes the place of the file before it
        label_visibility="collapsed",
    )
    mount("paste", key="paste", data={}, default={"picture": None}, on_picture_change=lambda: None)
    content = file.getvalue() if file is not None else query.pasted(pasted) or _sample()
    return None if content is None else decode(content, dataset)


def _sample() -> bytes | None:
    """One of the pictures that come with the program, for who has none at hand."""

    def take(name: str) -> None:
        st.session_state["sample"] = name

    with st.container(key="samples", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("or try", width="content")
        for name, title in SAMPLES.items():
            st.button(title, key=f"sample.{name}", type="tertiary", on_click=take, args=(name,))
    chosen = st.session_state.get("sample")
    return (QUERIES / f"{chosen}.jpg").read_bytes() if chosen in SAMPLES else None


def _inspector(ui: UIState, shown: dict[str, Any]) -> None:
    def pin() -> None:
        ui.pinned = st.session_state["inspector"].get("pin")
        st.session_state[KEY] = SIDES[0]

    def metric() -> None:
        ui.metric = "cosine" if st.session_state["inspector"].get("metric") == "cosine" else "euclidean"

    mount("inspector", key="inspector", data=shown, on_pin_change=pin, on_metric_change=metric)
