"""The interactive part beside a lab's figure: a picture to click on, or points to drag."""

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.labs import terrapattern, tracking
from dmlviz.labs.two_domains import VARIANTS
from dmlviz.studies.study import Study
from dmlviz_app.labs.files import has_planes
from dmlviz_app.labs.picture import has_picture
from dmlviz_app.labs.protocol import (
    LabPictureProps,
    LabPlanesProps,
    MetricPlaygroundProps,
    SketchSearchProps,
    TrackerProps,
)
from dmlviz_app.labs.question import kept_nets
from dmlviz_app.labs.routes import SOURCES
from dmlviz_app.labs.state import LabView, default_dataset
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.architectures import show_architecture
from dmlviz_app.widgets.components import mount
from dmlviz_app.workbench.protocol import QueryPadProps


def places(services: Services, view: LabView) -> None:
    """Render the picture of a lab, as soon as a trial kept what it needs: click a place, see which are alike."""
    if view.study is None or not has_picture(view.study):
        return
    info = view.study.info
    st.markdown("#### Click a place: what is like it?")
    if info["dataset"] not in services.datasets.available():
        title = DATASETS[info["dataset"]].title
        st.caption(
            f"The picture is made of the images of {title}, which is not on disk: train on it once to download it."
        )
        return
    study = _asked_study(view)  # of the lab patches none kept a net
    data = LabPictureProps(
        url=_address(view, view.study, info["dataset"], "picture.json"),
        version=str(len(view.study.results())),
        ask=_address(view, study, study.info["dataset"], "answer.json") if study is not None else None,
        least=terrapattern.LEAST_COLUMNS,
        most=terrapattern.MOST_COLUMNS,
        cell=terrapattern.CELL,
    )
    mount("lab_picture", key=f"lab.places.{view.lab.name}", data=data)


def planes(services: Services, view: LabView) -> None:
    """Render maps of the same images side by side, with linked hover."""
    if view.study is None or not has_planes(view.study):
        return
    dataset = view.study.info["dataset"]
    st.markdown("#### The same images in every plane")
    sheet = _address(view, view.study, dataset, "planes.png") if dataset in services.datasets.available() else None
    data = LabPlanesProps(
        url=_address(view, view.study, dataset, "planes.json"), version=str(len(view.study.results())), sheet=sheet
    )
    mount("lab_planes", key=f"lab.planes.{view.lab.name}", data=data)


def video(services: Services, view: LabView) -> None:
    """Render a player: a video, the boxes that are found in it, and the score map of each frame."""
    study = _asked_study(view)
    st.markdown("#### Follow it yourself")
    if study is None:
        st.caption("Run the lab: the net that it trains follows what you choose.")
        return
    dataset = study.info["dataset"]
    if dataset not in services.datasets.available():  # what the net learned serves for other digits, too
        dataset = default_dataset(view.lab, services)
    data = TrackerProps(
        url=_address(view, study, dataset, "answer.json"),
        version=str(kept_nets(study)[0].seconds),
        things=DATASETS[dataset].title,
        video=tracking.FIRST_VIDEO,
        videos=tracking.VIDEOS,
        distractors=tracking.USUAL_DISTRACTORS,
        most_distractors=tracking.MOST_DISTRACTORS,
        noise=tracking.USUAL_NOISE,
        most_noise=tracking.MOST_NOISE,
    )
    mount("tracker", key="lab.tracker", data=data)


def sketch(services: Services, view: LabView) -> None:
    """Render the variants' towers; a pad, the photographs that a drawing on it finds, and a map of both domains."""
    st.markdown("#### What the two towers share")
    towers = [name for name in VARIANTS if name.startswith("match")]
    shown = st.segmented_control("Variant", towers, default=towers[0], key="lab.towers", required=True)
    show_architecture("two-domains", shown)
    _search(services, view)


def _search(services: Services, view: LabView) -> None:
    study = _asked_study(view)
    st.markdown("#### Search with a drawing of your own")
    if study is None:
        st.caption("Run the lab: the nets that it trains search for what you draw.")
        return
    dataset = study.info["dataset"]
    if dataset not in services.datasets.available():
        title = DATASETS[dataset].title
        st.caption(f"The photographs are of {title}, which is not on disk: train on it once to download it.")
        return
    nets = {result.trial.settings["variant"]: result for result in kept_nets(study)}
    left, right = st.columns([3, 8], gap="medium")
    with left:
        variant = st.segmented_control(
            "The net has learned", list(nets), default=next(iter(nets)), key="lab.sketch.net", required=True
        )
        thing = "a garment" if dataset == view.lab.datasets[0] else "a digit, as an outline"
        pad = mount(
            "query_pad",
            key="lab.sketch.pad",
            data=QueryPadProps(hint=f"Draw {thing}"),
            default={"drawing": None},
            on_drawing_change=lambda: None,
        )
    data = SketchSearchProps(
        url=_address(view, study, dataset, "answer.json"),
        version=str(nets[variant].seconds),
        trial=nets[variant].trial.name,
        variant=variant,
        drawing=pad.drawing,
    )
    with right:
        mount("sketch_search", key="lab.sketch", data=data)


def _asked_study(view: LabView) -> Study | None:
    """Return the study whose nets a playground asks: the one shown if it kept any, otherwise the ready-made one."""
    return next((study for study in (view.study, view.ready_made) if study is not None and kept_nets(study)), None)


def _address(view: LabView, study: Study, dataset: str, name: str) -> str:
    """Return where a route of a study is."""
    source = SOURCES[0] if study is view.ready_made else study.info["size"]
    return f"{ROUTES}/labs/{view.lab.name}/{dataset}/{source}/{name}"


def metric_playground(services: Services, view: LabView) -> None:
    """Render two groups of points in the plane, and what three metrics say of a query."""
    st.markdown("#### A metric in the plane")
    mount("metric_playground", key="lab.metric_playground", data=MetricPlaygroundProps())
