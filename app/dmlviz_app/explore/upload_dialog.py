"""Upload dialog: choose files, preview what was read, then use the data set or open the embeddings."""

import re
from collections.abc import Sequence

import streamlit as st

from dmlviz.catalog import custom_datasets
from dmlviz.data.class_names import short_names
from dmlviz.data.image_folder import MAX_CLASSES, MAX_IMAGES, Color
from dmlviz.data.image_ops import READABLE
from dmlviz.data.table_limits import MAX_VECTORS
from dmlviz_app.explore.protocol import DrawPointsProps, ImportPreviewProps, UploadProps
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.people import policy
from dmlviz_app.people.people import MAX_UPLOAD_MB, MB
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services
from dmlviz_app.server.uploads import ImportStatus
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import warn
from dmlviz_app.workbench.progress_panel import uncover_map

OPEN = "custom-data-open"
SIDES = {None: "Original, max 32"} | {side: str(side) for side in (28, 32, 48, 64, 96, 128, 224)}
COLORS: dict[Color, str] = {"auto": "Auto", "gray": "Gray", "color": "Color"}
POLL_INTERVAL_S = 0.4  # seconds
PICTURES = (
    "**Images**: a zip with one folder per class, with classes in the names of files (cat_1.jpg), or with a table of "
    f"file names and classes; {READABLE} of any size, up to {MAX_IMAGES:,} images in {MAX_CLASSES:,} classes. Or the "
    "four files of MNIST, or of a relative."
)
VECTORS = (
    f"**Embeddings**: up to {MAX_VECTORS:,} vectors as npy, npz, csv, json or parquet, with a column named label or "
    "a second file of labels, or without labels. They are shown; only two columns with labels can be trained on."
)
TABLES = (
    "**Tables**: csv, json or parquet, a row for each image (a column of bytes) or vector. All other columns are kept: "
    "color the map by them, search, filter and sort."
)
LIMIT = f"Max {MAX_UPLOAD_MB} MB (use `dmlviz data add PATH` for more)."

# The options of the command that this dialog has no field for, and what a person does to the file instead.
_FLAGS = {
    "with --label": "by naming it “label”",
    "with --vector": "by leaving out of the file what does not belong to it",
    r"add --missing [^.]+\.": "leave its cells empty.",
}


def upload_button() -> None:
    """Render the button that opens the dialog."""
    button("Upload data…", type="tertiary", key="custom-data", on_click=_open)


def choose_files_button() -> None:
    """Render the button of a data set that is not on disk, whose files a person may have."""
    button("Choose files…", type="tertiary", key="custom-files-of-dataset", on_click=_open)


def upload_panel(ui: UIState, services: Services) -> None:
    """Render the dialog while it is open."""
    if st.session_state.get(OPEN):
        _dialog(ui, services)


def _open() -> None:
    st.session_state[OPEN] = True


def _close() -> None:
    st.session_state[OPEN] = False


@st.dialog("Upload data", width="large", on_dismiss=_close)
def _dialog(ui: UIState, services: Services) -> None:
    with error_boundary("Upload"):
        status = services.intake.status(services.person.id)
        if status is None:
            _choose_files(services)
        elif status.is_live:
            st.fragment(_show_progress, run_every=POLL_INTERVAL_S)(services)
        elif status.preview is None:
            warn(without_flags(status.reason))
            button(
                "Choose other files", key="custom-other", on_click=services.intake.discard, args=(services.person.id,)
            )
        else:
            _preview(ui, services, status)


def _choose_files(services: Services) -> None:
    for text in (PICTURES, VECTORS, TABLES):
        st.markdown(text)
    upload_field(services, "data")
    with st.expander("Draw points of the plane"):
        url = f"{ROUTES}/uploads/data?points=1"
        mount("draw_points", key="draw-points", data=DrawPointsProps(url=url), reruns=True)
    st.caption(
        LIMIT if services.person.may(policy.READ_FILES) else f"Max {max_megabytes(services)} MB. Only you see it."
    )


def upload_field(services: Services, what: str, accept: Sequence[str] = (), held: str = "") -> None:
    """Render the field that takes files; where they have come, the dialog is drawn anew.

    Args:
        services: The session's services.
        what: Last part of the address that they are sent to.
        accept: Endings of the one file that it takes; by default it takes several of any kind, and folders.
        held: Name of the file that is here already.
    """
    limit = max_megabytes(services) * MB
    url = f"{ROUTES}/uploads/{what}"
    data = UploadProps(url=url, accept=list(accept), limit=limit, held=held)
    mount("upload", key=f"upload.{what}", data=data, reruns=True)


def max_megabytes(services: Services) -> int:
    """Return the megabytes that this person may upload at a time."""
    return min(MAX_UPLOAD_MB, max(1, services.person.limits.upload // MB))


@error_boundary("Upload")
def _show_progress(services: Services) -> None:
    status = services.intake.status(services.person.id)
    if status is None or not status.is_live:
        st.rerun()
    st.progress(
        status.share, f"Waiting, {status.position} of {status.of} …" if status.phase == "queued" else "Reading …"
    )
    if st.button("Cancel", key="custom-cancel"):
        services.intake.discard(services.person.id)
        st.rerun()


def without_flags(text: str) -> str:
    """Return a message about files in which what a page has no field for is said of the file, not of an option.

    Examples:
        >>> without_flags("No column is a label (choose one with --label).")
        'No column is a label (choose one by naming it “label”).'
    """
    for flag, words in _FLAGS.items():
        text = re.sub(flag, words, text)
    return text


def _preview(ui: UIState, services: Services, status: ImportStatus) -> None:
    preview = status.preview
    assert preview is not None
    pictures = preview["kind"] == "pictures"
    names = short_names(tuple(row["name"] for row in preview["classes"]))
    data = ImportPreviewProps(
        files=preview["files"],
        taken=preview["taken"],
        summary=without_flags(preview["summary"]),
        notes=[*map(without_flags, preview["notes"])],
        warnings=[*map(without_flags, preview["warnings"])],
        left_out=preview["left_out"],
        classes=[row | {"name": name} for row, name in zip(preview["classes"], names, strict=True)],
        tiles=preview["tiles"],
    )
    mount("import_preview", key="import_preview", data=data)
    order = services.intake.request(services.person.id)
    if pictures and not order["points"]:
        levels = preview.get("levels", [])
        level = order["folder_level"]
        if len(levels) > 1:
            numbers = range(1, len(levels) + 1)
            number = st.selectbox(
                "Folder level of the classes", numbers, preview["level"] - 1, lambda n: f"{n}: {levels[n - 1]}"
            )
            level = number if number != preview["level"] else level
        name_column, middle, right = st.columns([2, 1, 1])
        with middle:
            side = st.selectbox("Image size", list(SIDES), list(SIDES).index(order["side"]), SIDES.__getitem__)
        with right:
            color = st.selectbox("Color", list(COLORS), list(COLORS).index(order["color"]), COLORS.__getitem__)
        if (side, color, level) != (order["side"], order["color"], order["folder_level"]):
            services.intake.reparse(services.person.id, side=side, color=color, folder_level=level)
            st.rerun()
    else:
        name_column = st.container()
        if preview.get("plane") and st.button("Train on these points instead", key="custom-points"):
            services.intake.reparse(services.person.id, points=True)
            st.rerun()
    with name_column:
        title = st.text_input("Name", preview["title"], key="custom-title", max_chars=60)
    use, restart, _ = st.columns([2, 2, 3])
    with use:
        is_accepted = st.button(
            "Use this data set" if pictures else "Open embeddings", type="primary", width="stretch", key="custom-use"
        )
    with restart:
        if st.button("Choose other files", width="stretch", key="custom-other"):
            services.intake.discard(services.person.id)
            st.rerun()
    if is_accepted:
        kind, name = services.intake.accept(services.person.id, title)
        if kind == "pictures":
            if custom_datasets.is_custom(name):
                services.datasets.hold(name)
            ui.set("dataset", name)
        else:
            services.runs.hold(name, title)
            ui.show(name)
            uncover_map()
        _close()
        st.rerun()
