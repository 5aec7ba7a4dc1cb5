"""What one plays with below a lab's figure: a picture to click on, or points to drag."""

from typing import Any

import streamlit as st

from app.api.labs import SOURCES
from app.payloads.lab_picture import has_picture
from app.payloads.protocol.common import ROUTES
from app.state.labs import LabView
from app.widgets.components import mount

PICTURE = "lab_picture"


def playground(view: LabView) -> None:
    """Render the lab's playground, as soon as there is something to play with."""
    data: dict[str, Any] = {}
    if view.lab.playground == PICTURE:
        if view.shown is None or not has_picture(view.shown):
            return
        info = view.shown.info
        source = SOURCES[0] if view.is_ready_made else info["size"]
        data = {
            "url": f"{ROUTES}/labs/{view.lab.name}/{info['dataset']}/{source}/picture.json",
            "version": str(len(view.shown.results())),
        }
    st.markdown("##### Try it")
    mount(view.lab.playground, key=f"lab.playground.{view.lab.name}", data=data)
