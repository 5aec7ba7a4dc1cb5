"""The limits of each role, for teachers and admins to set."""

import streamlit as st

from app.runtime.limits import MAX_DISK_GB, MAX_JOBS, check_may_set
from app.runtime.people import GB, MAX_UPLOAD_MB, MB, Limits, Person, Role
from app.runtime.services import Services
from app.widgets.markdown import escape_markdown
from dmlviz.errors import UserError

_MESSAGE = "limits.message"


def limits(services: Services) -> None:
    """Render a form for each role whose limits this person may set."""
    roles = [role for role in (Role.GUEST, Role.MEMBER, Role.TEACHER, Role.ADMIN) if _may_set(services.person, role)]
    if not roles:
        return
    with st.expander("Limits: disk, jobs and uploads of each person"):
        for role in roles:
            _form(services, role)
        message = st.session_state.pop(_MESSAGE, "")
        if message:
            st.caption(f":orange[{escape_markdown(message)}]")
        st.caption("They count at once, for everybody of that role. Who has more already keeps it, but gets no more.")


def _may_set(person: Person, role: Role) -> bool:
    try:
        check_may_set(person, role, None)
    except UserError:
        return False
    return True


def _form(services: Services, role: Role) -> None:
    name, now = role.name.lower(), services.identity.limits_of(role)
    keys = {field: f"limits.{name}.{field}" for field in ("disk", "jobs", "upload")}

    def save(reset: bool = False) -> None:
        disk = st.session_state[keys["disk"]]
        wish = Limits(
            disk=None if disk is None else round(disk * GB),
            jobs=st.session_state[keys["jobs"]],
            upload=round(st.session_state[keys["upload"]] * MB),
        )
        try:
            services.identity.set_limits(services.person, role, None if reset else wish)
        except UserError as error:
            st.session_state[_MESSAGE] = str(error)
        for key in keys.values():
            del st.session_state[key]

    with st.form(f"limits.{name}", border=False):
        row = st.container(horizontal=True, vertical_alignment="bottom")
        disk = None if now.disk is None else now.disk / GB
        with row:
            st.number_input(
                f"{name.capitalize()}: disk (GB)",
                0.0,
                float(MAX_DISK_GB),
                disk,
                0.1,
                format="%g",
                key=keys["disk"],
                placeholder="as the server",
                help="Of runs and data; empty for as much as the server has.",
            )
            st.number_input("Jobs", 0, MAX_JOBS, now.jobs, key=keys["jobs"], help="Under way and waiting.")
            st.number_input(
                "Upload (MB)", 0.0, float(MAX_UPLOAD_MB), now.upload / MB, 10.0, format="%g", key=keys["upload"]
            )
            st.form_submit_button("Save", key=f"limits.{name}.save", on_click=save)
            st.form_submit_button(
                "Reset",
                key=f"limits.{name}.reset",
                on_click=save,
                args=(True,),
                help="As the server was started.",
            )
