"""Pretrained backbone: choose the net and its weights, watch it see each image once, then train a head."""

from collections.abc import Callable

import streamlit as st

from dmlviz.catalog.backbones import BACKBONES, OF_TIMM
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz_app.explore import backbone_state as backbone
from dmlviz_app.explore.backbone_state import SOURCES, BackboneChoice, Source
from dmlviz_app.explore.upload_dialog import max_megabytes, upload_field
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.people import policy
from dmlviz_app.server.feature_jobs import FeaturesStatus
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown, warn

OPEN = "backbone-open"
ERROR = "backbone-error"
LAST = "backbone-choice"  # what was chosen last, for when the fields come back
TAKEN = "backbone-taken"  # the computation whose data set this page selected last
SUFFIXES = ["safetensors", "pth", "pt", "bin", "ckpt", "tar"]
POLL_INTERVAL_S = 0.5  # seconds, while the dialog is open
LINE_INTERVAL_S = 2.0  # seconds, in the sidebar


def backbone_button(services: Services, dataset: str) -> None:
    """Render the button that opens the dialog, for a data set of images and while there is something to see."""
    if backbone.takes_backbone(dataset) or services.features.status(services.person) is not None:
        button("Pretrained backbone…", type="tertiary", key="backbone", on_click=_open)


def backbone_panel(ui: UIState, services: Services, dataset: str) -> None:
    """Render what is known of a data set of features, a line while features are computed, and the open dialog."""
    features = DATASETS[dataset].features
    if features is not None:
        title = BACKBONES[features.backbone].title
        st.caption(
            f"{title} made {features.dimensions:,} features of each image; the net is a head that learns on them."
        )
    status = services.features.status(services.person)
    if st.session_state.get(OPEN):
        _dialog(ui, services, dataset)
    elif status is not None:
        _line(services, status)


def take_finished(ui: UIState, services: Services, pictures: str | None) -> bool:
    """Select the new data set once its features are ready and close the dialog; return whether it did."""
    taken = st.session_state.get(TAKEN, "")
    st.session_state[TAKEN] = backbone.take_finished(ui, services, pictures, taken)
    if st.session_state[TAKEN] == taken:
        return False
    st.session_state.pop(LAST, None)
    _close()
    return True


def _open() -> None:
    st.session_state[OPEN] = True


def _close() -> None:
    st.session_state[OPEN] = False
    st.session_state.pop(ERROR, None)


def _line(services: Services, status: FeaturesStatus) -> None:
    """Render the progress, while the dialog is closed."""

    @error_boundary("Pretrained backbone")
    def line() -> None:
        now = services.features.status(services.person)
        if now is None or now.is_live != status.is_live:
            st.rerun()
        st.caption(escape_markdown(f"{backbone.heading(now)}: {backbone.progress_text(now)}."))

    st.fragment(line, run_every=LINE_INTERVAL_S if status.is_live else None)()


@st.dialog("Pretrained backbone", width="medium", on_dismiss=_close)
def _dialog(ui: UIState, services: Services, dataset: str) -> None:
    with error_boundary("Pretrained backbone"):
        status = services.features.status(services.person)
        if status is None or status.phase == "unknown" or (status.phase == "failed" and not status.done):
            _form(services, dataset, status)
        elif status.is_live:
            st.fragment(_progress, run_every=POLL_INTERVAL_S)(services)
        elif status.result:
            _finished(ui, services, status, dataset)
        else:
            _stopped(services, status)


def _form(services: Services, dataset: str, failed: FeaturesStatus | None) -> None:
    title = escape_markdown(DATASETS[dataset].title)
    if not backbone.takes_backbone(dataset):
        raise UserError(f"{DATASETS[dataset].title} holds features already; choose the data set of its images in Data.")
    st.markdown(
        f"A net that was trained on many photographs sees each image of **{title}** once. What it makes of an image, "
        "its *features*, is kept as a new data set. A small net, the *head*, then learns from the features in seconds, "
        "with every loss and miner."
    )
    last: BackboneChoice | None = st.session_state.get(LAST) or backbone.last_choice(services)
    name = _name("" if last is None else last.backbone)
    if name not in BACKBONES:
        return
    spec = BACKBONES[name]
    missing = backbone.missing_library(spec)
    if missing or spec.reference:
        st.caption(f"{spec.summary} " + (f":orange[{missing}]" if missing else f"{spec.reference}."))
    sources = backbone.sources(services, name)
    source: Source = st.radio(
        "Weights",
        sources,
        sources.index(last.source) if last is not None and last.source in sources else 0,
        format_func=SOURCES.__getitem__,
        horizontal=True,
        key="backbone-source",
        on_change=_forget_reason,
    )
    kept, path = _weights(services, name, source, last)
    title = st.text_input(
        "Name",
        last.title if last is not None and last.dataset == dataset else "",
        key="backbone-title",
        max_chars=60,
        placeholder=f"{DATASETS[dataset].title}, {spec.title}",
    )
    if failed is not None and failed.dataset not in ("", dataset):  # of other images, which this form is not about
        failed = None
    reason = st.session_state.get(ERROR, "" if failed is None else failed.reason)
    if reason:
        warn(reason)
    with st.container(horizontal=True):
        lacks_file = source == "upload" and backbone.reusable_upload(services, name) is None
        disabled = bool(missing) or lacks_file
        if st.button("Compute features", type="primary", key="backbone-start", disabled=disabled):
            choice = BackboneChoice(dataset=dataset, backbone=name, source=source, kept=kept, path=path, title=title)
            st.session_state[LAST] = choice
            _do(lambda: backbone.start(services, choice))
        if failed is not None and st.button("Discard", key="backbone-discard"):
            _do(lambda: services.features.discard(services.person))


def _name(last: str) -> str:
    """Render the choice of the backbone; return its name, which no backbone has where it is not given yet."""
    names = [*BACKBONES, OF_TIMM]
    name: str = st.selectbox(
        "Backbone",
        names,
        names.index(last if last in names else OF_TIMM) if last else 0,
        lambda one: _words(one) if one in BACKBONES else "Another net of timm",
        key="backbone-name",
        on_change=_forget_reason,
    )
    if name != OF_TIMM:
        return name
    name += st.text_input(
        "Name in timm",
        last.removeprefix(OF_TIMM) if last not in names else "",
        key="backbone-timm",
        max_chars=90,
        placeholder="resnet34.a1_in1k",
        on_change=_forget_reason,
    ).strip()
    if name not in BACKBONES:
        st.caption("A name of `timm.list_models()`: letters, digits, dots and underscores.")
    return name


def _words(name: str) -> str:
    return f"{BACKBONES[name].title} · {BACKBONES[name].dimensions:,} features"


def _weights(services: Services, name: str, source: Source, last: BackboneChoice | None) -> tuple[str, str]:
    """Render the choice of the weights from a source; return the kept ones and a path: one of them at most."""
    spec = BACKBONES[name]
    if source == "kept":
        known = backbone.known_weights(services, name)
        kept = list(known).index(last.kept) if last is not None and last.kept in known else 0
        picked = st.selectbox(
            "Weights in the data folder",
            list(known),
            kept,
            known.__getitem__,
            key=f"backbone-kept.{name}",
            on_change=_forget_reason,
        )
        return picked, ""
    if source == "download":
        st.caption(f"{spec.library} downloads {spec.weights}; the server needs a network for that.")
        return "", ""
    words = f"A state dict of {spec.library}'s {spec.title}, as safetensors or as torch.save writes it"
    if source == "path":
        path = st.text_input(
            "Path",
            "" if last is None else last.path,
            key="backbone-path",
            placeholder="/data/resnet18.safetensors",
            on_change=_forget_reason,
        )
        st.caption(f"{words}.")
        return "", path
    more = " For more, choose File on this machine." if services.person.may(policy.READ_FILES) else ""
    st.caption(escape_markdown(f"{words}, up to {max_megabytes(services)} MB.{more} Nothing in it is executed."))
    uploaded = backbone.reusable_upload(services, name)
    upload_field(services, "weights", [f".{suffix}" for suffix in SUFFIXES], "" if uploaded is None else uploaded.name)
    return "", ""


@error_boundary("Pretrained backbone")
def _progress(services: Services) -> None:
    status = services.features.status(services.person)
    if status is None or not status.is_live:
        st.rerun()
    st.markdown(f"**{escape_markdown(backbone.heading(status))}**")
    st.progress(status.done / max(1, status.images), escape_markdown(backbone.progress_text(status)))
    st.caption("It goes on when you close this or leave the page, and is shown below Data. Trainings wait meanwhile.")
    if st.button("Stop", key="backbone-stop", disabled=status.phase == "stopping"):
        services.features.stop(services.person)
        st.rerun(scope="fragment")


def _finished(ui: UIState, services: Services, status: FeaturesStatus, dataset: str) -> None:
    """Offer the new data set where another one is selected than that of the images."""
    st.markdown(f"**{escape_markdown(backbone.heading(status))}**")
    st.caption(
        f"The features of all {status.images:,} images are computed." if status.images else "The features are computed."
    )
    st.caption(f"They are a data set of their own in Data: {escape_markdown(DATASETS[status.result].title)}.")
    with st.container(horizontal=True):
        if st.button("Use these features", type="primary", key="backbone-use"):
            take_finished(ui, services, None)
            st.rerun()
        if backbone.takes_backbone(dataset) and st.button("Compute others", key="backbone-others"):
            st.session_state[TAKEN] = backbone.put_aside(services)
            st.session_state.pop(LAST, None)
            st.rerun()


def _stopped(services: Services, status: FeaturesStatus) -> None:
    st.markdown(f"**{escape_markdown(backbone.heading(status))}**")
    st.progress(status.done / max(1, status.images), escape_markdown(backbone.progress_text(status)))
    st.caption("The finished part is kept. Discard deletes it, and another backbone can be chosen.")
    if reason := st.session_state.get(ERROR, status.reason if status.phase == "failed" else ""):
        warn(reason)
    with st.container(horizontal=True):
        if st.button("Continue", type="primary", key="backbone-continue"):
            _do(lambda: backbone.go_on(services))
        if st.button("Discard", key="backbone-discard"):
            _do(lambda: services.features.discard(services.person))


def _forget_reason() -> None:
    """Clear the reason of the last refusal."""
    st.session_state[ERROR] = ""


def _do(action: Callable[[], object]) -> None:
    """Run an action and rerun the dialog, with the sentence of a UserError."""
    st.session_state.pop(ERROR, None)
    try:
        action()
    except UserError as error:
        st.session_state[ERROR] = str(error)
    st.rerun()
