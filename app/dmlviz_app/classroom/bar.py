"""The line on top of every page of a person in a class: current events, and whether the page follows the teacher."""

import streamlit as st

from dmlviz_app.classroom.protocol import ClassroomBarProps
from dmlviz_app.feature import pages
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.navigation import home


def classroom_bar(services: Services) -> None:
    """Render the line, for those who are in a class."""
    room = services.classrooms.of_person(services.person.id)
    if room is None:
        return
    with st.container(key="classroom-bar"):
        mount(
            "classroom_bar",
            key=f"classroom_bar.{room.code}",
            data=ClassroomBarProps(
                code=room.code,
                url=f"{ROUTES}/classrooms/{room.code}",
                teacher=room.teacher == services.person.id,
                revealed=room.task_key in room.revealed,
                pages=[address for address in pages() if address != home()],
            ),
            reruns=True,
        )
