"""Class page: join or open a class; for its teacher the board, for students their hand-in."""

import streamlit as st

from dmlviz_app.classroom import board as classroom_board
from dmlviz_app.classroom import forms as classroom_forms
from dmlviz_app.classroom.forms import KEY, ClassroomState
from dmlviz_app.people import policy
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import url_state

app_services = session_services()
ui = url_state.get_or_create(ClassroomState, KEY)
room = app_services.classrooms.of_person(app_services.person.id)

if not app_services.person.may(policy.MEET):
    st.markdown(
        "This server is for one person. For a class, stop it (Ctrl-C) and start a shared one, which other machines "
        "reach:\n\n```\ndmlviz serve --host 0.0.0.0\n```\n\nOpen the link that it prints, then *Class*: there you "
        "open a class, and students join it with its code. On one machine, try it with `dmlviz serve --shared`."
    )
elif room is None:
    classroom_forms.entrance(app_services, ui)
elif room.teacher == app_services.person.id:
    classroom_board.classroom_board(app_services, room)
else:
    classroom_forms.student_page(app_services, room)
url_state.write_url(ui)
