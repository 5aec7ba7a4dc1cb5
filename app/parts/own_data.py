"""Your own data: bring files, look at what was understood of them, then train on them as on any other."""

from typing import Any

import streamlit as st

from app.components import mount
from app.faults import as_sentences
from app.identity import owner
from app.intake import Reading
from app.services import Services
from app.state import UIState
from app.words import plain
from dmlviz.data.class_folders import MOST_CLASSES, MOST_IMAGES, Colour
from dmlviz.data.vectors import MOST_VECTORS, SUFFIXES
from dmlviz.errors import UserError

OPEN = "own-data-open"
MOST_MEGABYTES = 100
SIDES = {None: "As they are, or 32", 28: "28", 32: "32", 48: "48", 64: "64"}
COLOURS: dict[Colour, str] = {"auto": "As they are", "grey": "Grey", "colour": "Colour"}
POLL = 0.4  # seconds
PICTURES = (
    f"**Pictures**: a zip with a folder for each class, named after it; PNG, JPEG, WebP, BMP or GIF of any size, up to "
    f"{MOST_IMAGES:,} of them in {MOST_CLASSES} classes."
)
VECTORS = (
    f"**Vectors**: up to {MOST_VECTORS:,} ready embeddings as npy, npz, csv or parquet, with a column called label or "
    "a second file of labels. They are shown as they are."
)
LIMIT = f"Up to {MOST_MEGABYTES} MB here; `dmlviz data add PATH` takes more. Whoever can open this app can see them."


def own_data(ui: UIState, services: Services) -> None:
    """The way in, and the dialog while it is open."""
    st.button("Your own data…", type="tertiary", key="own-data", on_click=_open)
    if st.session_state.get(OPEN):
        _dialog(ui, services)


def _open() -> None:
    st.session_state[OPEN] = True


def _close() -> None:
    st.session_state[OPEN] = False


@st.dialog("Your own data", width="large", on_dismiss=_close)
def _dialog(ui: UIState, services: Services) -> None:
    with as_sentences():
        reading = services.intake.reading(owner())
        if reading is None:
            _bring(services)
        elif reading.phase == "reading":
            st.fragment(_wait, run_every=POLL)(services)
        elif reading.phase == "failed":
            st.caption(f":orange[{plain(reading.reason)}]")
            st.button("Bring other files", key="own-other", on_click=services.intake.drop, args=(owner(),))
        else:
            _look(ui, services, reading)


def _bring(services: Services) -> None:
    for words in (PICTURES, VECTORS):
        st.markdown(words)
    files = st.file_uploader(
        "Files",
        type=["zip", *(suffix.removeprefix(".") for suffix in SUFFIXES), "txt"],
        accept_multiple_files=True,
        max_upload_size=MOST_MEGABYTES,
        key="own-files",
        label_visibility="collapsed",
    )
    st.caption(LIMIT)
    if files:
        try:
            services.intake.bring(owner(), {file.name: file.getvalue() for file in files})
        except UserError as error:
            st.caption(f":orange[{plain(error)}]")
            return
        st.rerun()


def _wait(services: Services) -> None:
    reading = services.intake.reading(owner())
    if reading is None or reading.phase != "reading":
        st.rerun()
    st.progress(reading.share, "Reading …")
    if st.button("Cancel", key="own-cancel"):
        services.intake.drop(owner())
        st.rerun()


def _look(ui: UIState, services: Services, reading: Reading) -> None:
    look: dict[str, Any] = reading.look or {}
    pictures = look["kind"] == "pictures"
    shown = {name: look[name] for name in ("summary", "notes", "warnings", "left_out", "classes")}
    mount("look", key="look", data=shown | {"tiles": look.get("tiles")})
    if pictures:
        order = services.intake.order(owner())
        left, middle, right = st.columns([2, 1, 1])
        with middle:
            side = st.selectbox("Pixels a side", list(SIDES), list(SIDES).index(order["side"]), SIDES.__getitem__)
        with right:
            colour = st.selectbox("Colour", list(COLOURS), list(COLOURS).index(order["colour"]), COLOURS.__getitem__)
        if (side, colour) != (order["side"], order["colour"]):
            services.intake.again(owner(), side, colour)
            st.rerun()
    else:
        left = st.container()
    with left:
        title = st.text_input("Name", look["title"], key="own-title", max_chars=60)
    use, other, _ = st.columns([2, 2, 3])
    with use:
        used = st.button("Use this data" if pictures else "Show them", type="primary", width="stretch", key="own-use")
    with other:
        if st.button("Bring other files", width="stretch", key="own-other"):
            services.intake.drop(owner())
            st.rerun()
    if used:
        kind, name = services.intake.keep(owner(), title)
        if kind == "pictures":
            ui.choose("dataset", name)
        else:
            ui.show(name)
        _close()
        st.rerun()
