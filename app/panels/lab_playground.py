"""What one plays with beside a lab's figure: a picture to click on, or points to drag."""

import streamlit as st

from app.api.labs import SOURCES
from app.payloads.lab_picture import has_picture
from app.payloads.protocol.common import ROUTES
from app.runtime.services import Services
from app.state.labs import LabView
from app.widgets.components import mount
from dmlviz.catalog.datasets import DATASETS


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
    source = SOURCES[0] if view.is_ready_made else info["size"]
    data = {
        "url": f"{ROUTES}/labs/{view.lab.name}/{info['dataset']}/{source}/picture.json",
        "version": str(len(view.shown.results())),
    }
    mount("lab_picture", key=f"lab.places.{view.lab.name}", data=data)


def metric_playground(services: Services, view: LabView) -> None:
    """Render two groups of points in the plane, and what three metrics say of a query."""
    st.markdown("##### A metric in the plane")
    mount("metric_playground", key="lab.metric_playground", data={})
