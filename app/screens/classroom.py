"""Class page: join or open a class; for its teacher the board, for students their hand-in."""

import streamlit as st

from app.panels import classroom_board, classroom_forms
from app.runtime import url_state
from app.runtime.services import session_services
from app.state.classroom import KEY, ClassroomState

app_services = session_services()
ui = url_state.get_or_create(ClassroomState, KEY)
room = app_services.classrooms.of_person(app_services.person.id)

if app_services.person.alone:
    st.markdown(
        "This server is for one person. For a class, start it so that other machines reach it: "
        "`dmlviz serve --host 0.0.0.0`."
    )
elif room is None:
    classroom_forms.entrance(app_services, ui)
elif room.teacher == app_services.person.id:
    classroom_board.classroom_board(app_services, room)
else:
    classroom_forms.student_page(app_services, room)
url_state.write_url(ui)
