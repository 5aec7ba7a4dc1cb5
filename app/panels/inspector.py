"""Inspector panel beside the map: a pinned image or a query image, with its nearest neighbors."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import streamlit as st

from app.payloads import query
from app.payloads.columns import run_columns
from app.runtime.services import Services
from app.state.current_view import RunView
from app.state.explore import UIState
from app.widgets import component_props
from app.widgets.components import mount
from app.widgets.markdown import escape_markdown
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.query_image import decode
from dmlviz.errors import UserError
from dmlviz.runs.neighbor_search import Neighbor

NEIGHBORS = 10
MOST_VALUES = 3  # of a neighbor, in its line
KEY = "side"
NO_NET = "No model for these embeddings, so new images cannot be embedded."
NO_COLORS = "This data set is in color: upload an image instead."
SIDES = ("Selected", "Draw", "Upload")
SAMPLES = {"seven": "a seven", "two": "a two", "house": "a house"}
QUERIES = Path(__file__).resolve().parent.parent / "assets" / "queries"
CAMERA = "Camera"  # which browsers allow to pages over https, and to this machine's own


def pinned_neighbors(ui: UIState, run_view: RunView) -> list[Neighbor]:
    """Find the neighbors of the pinned image; empty if nothing is pinned or the image is not embedded yet."""
    if ui.pinned is None:
        return []
    try:
        return run_view.run.neighbors(ui.pinned, NEIGHBORS, metric=ui.metric)
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
    ui: UIState, services: Services, run_view: RunView, neighbors: list[Neighbor]
) -> query.QueryResult | None:
    """Render the inspector; return the result of the query image, or None."""
    tab = st.session_state[KEY]
    if tab == "Selected":
        _selected(ui, services, run_view, neighbors)
        return None
    if not run_view.complete:
        st.caption("Queries are available after training.")
        return None
    data = DATASETS[run_view.run.config.dataset]
    if not data.trainable or (tab == "Draw" and data.channels == 3):
        st.caption(NO_COLORS if data.trainable else NO_NET)
        return None
    try:
        image = _read_query_image(tab, run_view.run.config.dataset)
        if image is None:
            return None
        result = query.query(image, run_view.run, services, NEIGHBORS)
    except UserError as error:
        st.caption(f":orange[{escape_markdown(error)}]")
        return None
    _inspector(ui, component_props.answer_data(run_view, result) | {"below": tab})
    return result


def _selected(ui: UIState, services: Services, run_view: RunView, neighbors: list[Neighbor]) -> None:
    if ui.pinned is None or not neighbors:
        text = "Click a point to see its nearest neighbors in the embedding."
        if ui.pinned is not None:
            text = f"Test image {ui.pinned:,} is not embedded at this step, only at the end of the run."
        _inspector(ui, {"placeholder": text, "columns": run_view.columns} | component_props.noun_props(run_view))
    else:
        values = _values(run_view, services, [neighbor.item for neighbor in neighbors])
        _inspector(ui, component_props.pinned_data(run_view, ui, ui.pinned, neighbors) | values)
        _row(run_view, services, ui.pinned)


def _row(run_view: RunView, services: Services, item: int) -> None:
    """Render what the columns of the table say of a pinned image."""
    table = run_columns(run_view.run, services.data) if run_view.columns else None
    if table is None or item >= table.num_rows:
        return
    known = _known(table.slice(item, 1).to_pylist()[0])
    st.caption(" · ".join(f"{escape_markdown(name)} **{escape_markdown(word)}**" for name, word in known))


def _values(run_view: RunView, services: Services, items: list[int]) -> dict[str, dict[str, str]]:
    """Return, by item, what the columns say of neighbors that have no picture to be known by."""
    table = run_columns(run_view.run, services.data) if run_view.columns and run_view.pictures is None else None
    if table is None:
        return {}
    rows = table.take(items).to_pylist()
    words = (" · ".join(f"{name} {word}" for name, word in _known(row)[:MOST_VALUES]) for row in rows)
    return {"values": dict(zip(map(str, items), words, strict=True))}


def _known(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of what is known of a row."""
    return [
        (name, f"{value:.6g}" if isinstance(value, float) else str(value))
        for name, value in row.items()
        if value is not None
    ]


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


def _read_query_image(tab: str, dataset: str) -> np.ndarray | None:
    if tab == "Draw":
        return _drawing_pad()
    if tab == "Upload":
        return _upload(dataset)
    photograph = st.camera_input("Photo", key="camera", label_visibility="collapsed")
    return None if photograph is None else decode(photograph.getvalue(), dataset)


def _upload(dataset: str) -> np.ndarray | None:
    """Read an uploaded file, or the image pasted after it."""
    paste = st.session_state.get("paste", {}).get("picture")
    file = st.file_uploader(
        "Image",
        type=["png", "jpg", "jpeg", "webp"],
        max_upload_size=2,
        key=f"upload.{query.paste_count(paste)}",  # a paste takes the place of the file before it
        label_visibility="collapsed",
    )
    mount("paste", key="paste", data={}, default={"picture": None}, on_picture_change=lambda: None)
    content = file.getvalue() if file is not None else query.decode_paste(paste) or _sample_images()
    return None if content is None else decode(content, dataset)


def _sample_images() -> bytes | None:
    """Offer the sample images of the package; return the selected one."""

    def select(name: str) -> None:
        st.session_state["sample"] = name

    with st.container(key="samples", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("or try", width="content")
        for name, title in SAMPLES.items():
            st.button(title, key=f"sample.{name}", type="tertiary", on_click=select, args=(name,))
    sample = st.session_state.get("sample")
    return (QUERIES / f"{sample}.jpg").read_bytes() if sample in SAMPLES else None


def _inspector(ui: UIState, props: dict[str, Any]) -> None:
    def pin() -> None:
        ui.pinned = st.session_state["inspector"].get("pin")
        st.session_state[KEY] = SIDES[0]

    def metric() -> None:
        ui.metric = "cosine" if st.session_state["inspector"].get("metric") == "cosine" else "euclidean"

    def compare() -> None:
        ui.partner = ui.pinned if st.session_state["inspector"].get("compare") else None

    mount(
        "inspector",
        key="inspector",
        data=props,
        on_pin_change=pin,
        on_metric_change=metric,
        on_compare_change=compare,
    )
