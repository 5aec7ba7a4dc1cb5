"""Joining and opening a class, and a student's own page of it."""

from dataclasses import dataclass

import streamlit as st

from dmlviz_app.classroom import OPEN_CLASS
from dmlviz_app.classroom.protocol import ClassroomBarProps
from dmlviz_app.classroom.routes import show_to_class
from dmlviz_app.feature import pages
from dmlviz_app.people.classroom import MAX_HOURS, MAX_NICKNAME, Classroom, normal_code
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.address import Address, Param, Type, UrlState
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.messages import escape_markdown
from dmlviz_app.widgets.navigation import home

KEY = "page.class"


@dataclass
class ClassroomState(UrlState):
    """`code` is what a link or QR code brings, for the form to join; empty without one."""

    code: str = ""
    last_query: dict[str, str] | None = None

    ADDRESS = Address(Param("code", Type(lambda text, _: normal_code(text)), ""))


_CODE, _NICKNAME, _TITLE, _HOURS = "classroom.code", "classroom.nickname", "classroom.title", "classroom.hours"


def entrance(services: Services, ui: ClassroomState) -> None:
    """Render the form to join a class, and the one to open one for those who may."""
    may_open = services.person.may(OPEN_CLASS) and not ui.code
    left, right = st.columns(2, gap="large")
    with left:
        _join_form(services, ui)
    if may_open:
        with right:
            _open_form(services)
    _past_classes(services)


def _join_form(services: Services, ui: ClassroomState) -> None:
    def join() -> None:
        code, nickname = st.session_state[_CODE], st.session_state[_NICKNAME]
        room = services.classrooms.join(code, services.person.id, nickname, st.context.ip_address or "")
        ui.code = ""
        if room.leading and room.lead is not None:
            show_to_class(services.run_owners, room, room.lead)

    with st.form("classroom.join", enter_to_submit=True):
        st.markdown("**Join a class**")
        st.text_input("Code", value=ui.code, key=_CODE, max_chars=12, placeholder="as on the board")
        name = services.person.name if services.person.is_named else ""
        st.text_input("Nickname", value=name, key=_NICKNAME, max_chars=MAX_NICKNAME, help="Only the teacher sees it.")
        button("Join", key="classroom.do.join", type="primary", on_click=join, render=st.form_submit_button)


def _open_form(services: Services) -> None:
    def open_class() -> None:
        services.classrooms.open(services.person.id, st.session_state[_TITLE], st.session_state[_HOURS])

    with st.form("classroom.open"):
        st.markdown("**Open a class**")
        st.text_input("Title", key=_TITLE, max_chars=60, placeholder="Metric learning, Monday")
        st.number_input("Hours", 1, MAX_HOURS, 3, key=_HOURS, help="The class ends by itself after this time.")
        button("Open", key="classroom.do.open", on_click=open_class, render=st.form_submit_button)


def _past_classes(services: Services) -> None:
    rooms = services.classrooms.past(services.person.id)
    if not rooms:
        return
    st.markdown("**Your classes of the last days**")
    for room in rooms:
        url = f"{ROUTES}/classrooms/{room.code}"
        if room.teacher == services.person.id:
            files = f"{len(room.members)} students: [CSV]({url}/class.csv) · [hand-ins (zip)]({url}/hand-ins.zip)"
        else:
            files = f"[my hand-in]({url}/hand-in.json)"
        st.markdown(f"{escape_markdown(room.title)}, {files}")


def student_page(services: Services, room: Classroom) -> None:
    """Render a student's page of a class: hand-in and Leave."""
    member = room.members[services.person.id]
    st.markdown(f"### {escape_markdown(room.title)}")
    st.markdown(
        f"You are here as **{escape_markdown(member.nickname)}**. Only the teacher sees this name, your guesses, "
        "and which page you have open."
    )
    guesses = f"{len(member.guesses)} {'guess' if len(member.guesses) == 1 else 'guesses'} so far."
    st.caption(f"{guesses} The hand-in holds your guesses, the answers that were shown, and your runs of this class.")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.link_button("Download my hand-in", f"{ROUTES}/classrooms/{room.code}/hand-in.json")
        button("Leave the class", key="classroom.leave", on_click=services.classrooms.leave, args=(services.person.id,))


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
                gallery_run=room.gallery_run,
                pages=[address for address in pages() if address != home()],
            ),
            reruns=True,
        )
