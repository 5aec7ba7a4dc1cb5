"""The line on top of every page of somebody in a class: what goes on, and whether the page follows the teacher."""

import streamlit as st

from app.panels.navigation import HOME, PAGES
from app.payloads.protocol.common import ROUTES
from app.runtime.services import Services
from app.widgets.components import mount


def classroom_bar(services: Services) -> None:
    """Render the line, for those who are in a class."""
    room = services.classrooms.of_person(services.person.id)
    if services.person.alone or room is None:
        return
    with st.container(key="classroom-bar"):
        mount(
            "classroom_bar",
            key=f"classroom_bar.{room.code}",
            data={
                "code": room.code,
                "url": f"{ROUTES}/classrooms/{room.code}",
                "teacher": room.teacher == services.person.id,
                "revealed": room.task_key in room.revealed,
                "pages": [name for name in PAGES if name != HOME],
            },
            on_refresh_change=lambda: None,
        )
