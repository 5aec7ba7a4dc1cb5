"""Inspector panel beside the map: a pinned image or a query image, with its nearest neighbors."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import streamlit as st

from app.payloads import query
from app.runtime.services import Services
from app.state.current_view import RunView
from app.state.explore import UIState
from app.widgets import component_props
from app.widgets.components import mount
from app.widgets.markdown import escape_markdown
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.query_image import decode
from dmlviz.errors import UserError
from dmlviz.runs.run import Neighbor

NEIGHBORS = 10
KEY = "side"
NO_NET = "No model for these embeddings, so new images cannot be embedded."
NO_COLORS = "This data set is in color: upload an image instead."
SIDES = ("Selected", "Draw", "Upload")
SAMPLES = {"seven": "a seven", "two": "a two", "house": "a house"}
QUERIES = Path(__file__).resolve().parent.parent / "assets" / "queries"
CAMERA = "Camera"  # which browsers allow to pages over https, and to this machine's own


def pinned_neighbors(ui: UIState, shown: RunView) -> list[Neighbor]:
    """Find the neighbors of the pinned image; empty if nothing is pinned or the image is not embedded yet."""
    if ui.pinned is None:
        return []
    try:
        return shown.run.neighbors(ui.pinned, NEIGHBORS, metric=ui.metric)
    except UserError:
        return []


def selected_tab() -> None:
    """Render the tabs of the inspector."""
    st.segmented_control(
        "Inspect",
        (*SIDES, CAMERA) if _camera_allowed(st.context.url) else SIDES,
        default=SIDES[0],
        key=KEY,
        label_visibility="collapsed",
        required=True,
        width="stretch",
        persist_state="session",
    )


def inspector_panel(
    ui: UIState, services: Services, shown: RunView, neighbors: list[Neighbor]
) -> query.QueryResult | None:
    """Render the inspector; return the result of the query image, or None."""
    chosen = st.session_state[KEY]
    if chosen == "Selected":
        _selected(ui, shown, neighbors)
        return None
    if not shown.complete:
        st.caption("Queries are available after training.")
        return None
    data = DATASETS[shown.run.config.dataset]
    if data.size == 0 or (chosen == "Draw" and data.channels == 3):
        st.caption(NO_NET if data.size == 0 else NO_COLORS)
        return None
    try:
        picture = _read_query_image(chosen, shown.run.config.dataset)
        if picture is None:
            return None
        answer = query.query(picture, shown.run, services, NEIGHBORS)
    except UserError as error:
        st.caption(f":orange[{escape_markdown(error)}]")
        return None
    _inspector(ui, component_props.answer_data(shown, answer) | {"below": chosen})
    return answer


def _selected(ui: UIState, shown: RunView, neighbors: list[Neighbor]) -> None:
    if ui.pinned is None or not neighbors:
        words = "Click a point to see its nearest neighbors in the embedding."
        if ui.pinned is not None:
            words = f"Test image {ui.pinned:,} is not embedded at this step, only at the end of the run."
        _inspector(ui, {"placeholder": words})
    else:
        _inspector(ui, component_props.pinned_data(shown, ui, ui.pinned, neighbors))


def _drawing_pad() -> np.ndarray | None:
    pad = mount(
        "query_pad",
        key="query_pad",
        data={"hint": "Draw here"},
        default={"drawing": None},
        on_drawing_change=lambda: None,
    )
    return query.decode_drawing(pad.drawing)


def _camera_allowed(url: str | None) -> bool:
    parts = urlsplit(url or "")
    return parts.scheme == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1")


def _read_query_image(chosen: str, dataset: str) -> np.ndarray | None:
    if chosen == "Draw":
        return _drawing_pad()
    if chosen == "Upload":
        return _upload(dataset)
    photograph = st.camera_input("Photo", key="camera", label_visibility="collapsed")
    return None if photograph is None else decode(photograph.getvalue(), dataset)


def _upload(dataset: str) -> np.ndarray | None:
    """Read an uploaded file, or the image pasted after it."""
    pasted = st.session_state.get("paste", {}).get("picture")
    file = st.file_uploader(
        "Image",
        type=["png", "jpg", "jpeg", "webp"],
        max_upload_size=2,
        key=f"upload.{query.paste_count(pasted)}",  # a paste takes the place of the file before it
        label_visibility="collapsed",
    )
    mount("paste", key="paste", data={}, default={"picture": None}, on_picture_change=lambda: None)
    content = file.getvalue() if file is not None else query.decode_paste(pasted) or _sample_images()
    return None if content is None else decode(content, dataset)


def _sample_images() -> bytes | None:
    """Offer the sample images of the package; return the selected one."""

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
