"""What one plays with beside a lab's figure: a picture to click on, or points to drag."""

import streamlit as st

from app.api.labs import SOURCES
from app.payloads.lab_picture import has_picture
from app.payloads.lab_question import kept_nets
from app.payloads.protocol.common import ROUTES
from app.runtime.services import Services
from app.state.labs import LabView, default_dataset
from app.widgets.components import mount
from dmlviz.catalog.datasets import DATASETS
from dmlviz.labs import tracking_videos
from dmlviz.studies.study import Study


def places(services: Services, view: LabView) -> None:
    """Render the picture of a lab, as soon as a trial kept what it needs: click a place, see which are alike."""
    if view.shown is None or not has_picture(view.shown):
        return
    info = view.shown.info
    st.markdown("##### Click a place: what is like it?")
    if info["dataset"] not in services.available():
        title = DATASETS[info["dataset"]].title
        st.caption(
            f"The picture is made of the images of {title}, which is not on disk: train on it once to download it."
        )
        return
    data = {
        "url": _address(view, view.shown, info["dataset"], "picture.json"),
        "version": str(len(view.shown.results())),
    }
    mount("lab_picture", key=f"lab.places.{view.lab.name}", data=data)


def video(services: Services, view: LabView) -> None:
    """Render a player: a video, the boxes that are found in it, and the score map of each frame."""
    study = next((one for one in (view.shown, view.kept) if one is not None and kept_nets(one)), None)
    st.markdown("##### Follow it yourself")
    if study is None:
        st.caption("Run the lab: the net that it trains follows what you choose.")
        return
    dataset = study.info["dataset"]
    if dataset not in services.available():  # what the net learned serves for other digits, too
        dataset = default_dataset(view.lab, services)
    data = {
        "url": _address(view, study, dataset, "answer.json"),
        "version": str(kept_nets(study)[0].seconds),
        "things": DATASETS[dataset].title,
        "video": tracking_videos.FIRST_VIDEO,
        "videos": tracking_videos.VIDEOS,
        "distractors": tracking_videos.USUAL_DISTRACTORS,
        "most_distractors": tracking_videos.MOST_DISTRACTORS,
        "noise": tracking_videos.USUAL_NOISE,
        "most_noise": tracking_videos.MOST_NOISE,
    }
    mount("tracker", key="lab.tracker", data=data)


def _address(view: LabView, study: Study, dataset: str, name: str) -> str:
    """Return where a route of a study is."""
    source = SOURCES[0] if study is view.kept else study.info["size"]
    return f"{ROUTES}/labs/{view.lab.name}/{dataset}/{source}/{name}"


def metric_playground(services: Services, view: LabView) -> None:
    """Render two groups of points in the plane, and what three metrics say of a query."""
    st.markdown("##### A metric in the plane")
    mount("metric_playground", key="lab.metric_playground", data={})
