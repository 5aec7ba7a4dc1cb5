"""A gallery to play with: draw an identity three times and the net knows it, without training; others are "unknown"."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import streamlit as st

from dmlviz.config import TrainConfig
from dmlviz.data import query_image
from dmlviz.data.query_file import decode_drawing
from dmlviz.errors import UserError
from dmlviz.labs.gallery import NEWCOMERS
from dmlviz.ops.gallery import Gallery
from dmlviz.runs.run import Run
from dmlviz_app.answers import query
from dmlviz_app.labs.state import LabView
from dmlviz_app.server.services import Services, session_services
from dmlviz_app.widgets import navigation, url_state
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown, warn
from dmlviz_app.widgets.pictures import picture
from dmlviz_app.workbench.protocol import QueryPadProps

KEY = "lab.own_gallery"
EXAMPLES = 10  # pictures of each digit that the net was trained on
ADDED = 3  # test pictures that one click adds
SHOWN = 6  # pictures of each identity that are shown
STEPS = 250
SNAPSHOTS = 12  # more are a second half of the work, and seldom looked at
REFRESH_S = 1.0
MAX_NAME = 20  # characters


@dataclass
class OwnGallery:
    """The gallery of one visitor, with the pictures of each identity on it.

    Attributes:
        run: ID of the run whose net embeds.
        gallery: The known identities.
        pictures: Their pictures, by name.
    """

    run: str
    gallery: Gallery = field(default_factory=Gallery)
    pictures: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def add(self, name: str, embeddings: np.ndarray, images: list[np.ndarray], after: int | None = None) -> None:
        """Add pictures of an identity.

        Args:
            name: Name of the identity.
            embeddings: n × d.
            images: Their n pictures.
            after: Number of pictures at the time of the request: a click that comes twice counts once.
        """
        if after is not None and len(self.pictures.get(name, [])) != after:
            return
        self.gallery.add(name, embeddings)
        self.pictures.setdefault(name, []).extend(images)

    def remove(self, name: str) -> None:
        """Remove an identity, if it is there."""
        if self.pictures.pop(name, None) is not None:
            self.gallery.remove(name)


def net_config(dataset: str, everybody: bool = False) -> TrainConfig:
    """Return the settings of the net: trained without the newcomers, or with all."""
    held_out = () if everybody else NEWCOMERS
    return TrainConfig(dataset=dataset, held_out_classes=held_out, steps=STEPS, num_snapshots=SNAPSHOTS)


def own_gallery(services: Services, view: LabView) -> None:
    """Render the net's training, then the gallery."""
    st.markdown("#### Your own gallery")
    config = net_config(services.datasets.default())

    waits = _find(services, config) is None

    @st.fragment(run_every=REFRESH_S if waits else None)
    def train_then_use() -> None:
        with error_boundary("The gallery"):
            now = session_services()
            run = _find(now, config)
            if run is None:
                _train(now, config)
            elif waits:
                url_state.rerun()  # ends the clock, which can swallow a click
            else:
                _gallery(now, run)

    train_then_use()


def _find(services: Services, config: TrainConfig) -> Run | None:
    """Return the finished run of a config; None as long as there is none."""
    try:
        run = services.runs.get(config.id)
    except UserError:  # not trained yet
        return None
    return run if run.state == "finished" and run.embeddings is not None else None


def _train(services: Services, config: TrainConfig) -> None:
    status = services.jobs.status(config.id)
    if status.is_live:
        st.caption("The net is being trained on the digits 0 to 6 …")
        return
    st.markdown("The gallery needs a net: one that never saw a 7, an 8 or a 9.")
    button("Train it (about 10 s)", key=f"{KEY}.train", on_click=services.jobs.train, args=(config,))


def _gallery(services: Services, run: Run) -> None:
    own = st.session_state.get(KEY)
    if own is None or own.run != run.id:
        own = st.session_state[KEY] = _new_gallery(services, run)
    left, right = st.columns([3, 8], gap="medium")
    with left:
        pad = mount(
            "query_pad",
            key=f"{KEY}.pad",
            data=QueryPadProps(hint="Draw a digit or a sign"),
            default={"drawing": None},
            on_drawing_change=lambda: None,
        )
        end = run.end
        limit = (end.get("usual_distance") if end and end["event"] != "failed" else None) or 0.5
        threshold = st.slider(
            "Farther than this is unknown", 0.0, round(3 * limit, 2), round(limit, 2), key=f"{KEY}.threshold"
        )
    with right:
        _answer(services, run, own, pad.drawing, threshold)
        _people(services, run, own)


def _new_gallery(services: Services, run: Run) -> OwnGallery:
    """Return a gallery with the digits that the net was trained on."""
    own = OwnGallery(run.id)
    for label in run.config.train_classes:
        _add_test_images(services, run, own, label, EXAMPLES, 0)
    return own


def _add_test_images(services: Services, run: Run, own: OwnGallery, label: int, count: int, start: int) -> None:
    from dmlviz.data import load

    data = load(run.config.dataset, services.data)
    name = data.classes[label]
    rows = np.flatnonzero(data.test.labels == label)[start : start + count]
    assert run.embeddings is not None
    own.add(name, run.embeddings[rows], list(data.test.images[rows]), after=start)


def _answer(services: Services, run: Run, own: OwnGallery, drawing: object, threshold: float) -> None:
    """Render the identity of the drawing, and a button to add it to the gallery."""
    try:
        picture = decode_drawing(drawing)
        if picture is None:
            st.markdown("Draw something: the nearest in the gallery names it.")
            return
        image = query_image.prepare(picture, run.config.dataset).image
        embedding = query.query(picture, run, services).embedding
        answers = own.gallery.ask(embedding[None], threshold)
    except UserError as error:
        warn(error)
        return
    name, distance = answers.names[0], answers.distances[0]
    verdict = f"**{escape_markdown(name)}**" if answers.accepted[0] else "**unknown**"
    st.markdown(
        f"This is {verdict}: the nearest, {escape_markdown(name)}, is {distance:.2f} away. A classifier of the digits "
        f"0 to 6 must say {_closed_answer(run, own, embedding)}: it has no place for others."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        new = st.text_input("Name", key=f"{KEY}.name", max_chars=MAX_NAME, placeholder="9, or a name", width=160)
        button(
            "Add this drawing",
            key=f"{KEY}.add",
            disabled=not new.strip(),
            on_click=_add_drawing,
            args=(own, embedding, image, {name: len(images) for name, images in own.pictures.items()}),
        )


def _add_drawing(own: OwnGallery, embedding: np.ndarray, image: np.ndarray, counts: Mapping[str, int]) -> None:
    """Add a drawing by the name of now: the button may have been drawn before the last letter.

    `counts` says how many pictures there were of each name when it was drawn.
    """
    name = st.session_state[f"{KEY}.name"].strip()
    if name:
        own.add(name, embedding[None], [image], counts.get(name, 0))


def _closed_answer(run: Run, own: OwnGallery, embedding: np.ndarray) -> str:
    """Return the nearest of the digits that the net was trained on, at any distance."""
    labels, embeddings = run.labels, run.embeddings
    assert labels is not None
    assert embeddings is not None
    names = {str(label): embeddings[labels == label].mean(axis=0) for label in run.config.train_classes}
    return min(names, key=lambda name: float(np.linalg.norm(names[name] - embedding)))


def _people(services: Services, run: Run, own: OwnGallery) -> None:
    st.markdown("**In the gallery**")
    for name, images in list(own.pictures.items()):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{KEY}.of.{name}"):
            st.markdown(f"**{escape_markdown(name)}** ({len(images)})", width=90)
            for image in images[:SHOWN]:
                picture(image, alt=f"a picture of {name}", width=34)
            button("Remove", key=f"{KEY}.remove.{name}", type="tertiary", on_click=own.remove, args=(name,))
    with st.container(horizontal=True, gap="small"):
        for label in NEWCOMERS:
            button(
                f"Add three test pictures of {label}",
                key=f"{KEY}.test.{label}",
                on_click=_add_test_images,
                args=(services, run, own, label, ADDED, len(own.pictures.get(str(label), []))),
            )
    everybody = net_config(run.config.dataset, everybody=True)
    if _find(services, everybody) is None:
        button(
            "The classifier's way: train again with all ten digits (about 10 s)",
            key=f"{KEY}.retrain",
            type="tertiary",
            on_click=services.jobs.train,
            args=(everybody,),
        )
    else:
        navigation.link("explore", "The net that was trained with all ten digits", {"run": everybody.id})
