"""Panels above the list of runs: the queue, and the limits of each role, for teachers and admins to set."""

from typing import Any

import streamlit as st

from dmlviz.jobs.order import Order
from dmlviz.runs.run import RunNotFoundError
from dmlviz_app.people.limits import may_set
from dmlviz_app.people.people import GB, MAX_DISK_GB, MAX_JOBS, MAX_UPLOAD_MB, MB, Limits
from dmlviz_app.people.policy import Action, Role
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.markdown import escape_markdown


def limits(services: Services) -> None:
    """Render a form for each role whose limits this person may set."""
    roles = [role for role in Role if may_set(services.person, role)]
    if not roles:
        return
    with st.expander("Limits: disk, jobs and uploads of each person"):
        for role in roles:
            _form(services, role)
        st.caption("They count at once, for all of that role. Those who have more keep it, but get no more.")


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
        finally:
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
            button("Save", key=f"limits.{name}.save", on_click=save, render=st.form_submit_button)
            button(
                "Reset",
                key=f"limits.{name}.reset",
                on_click=save,
                args=(True,),
                help="As the server was started.",
                render=st.form_submit_button,
            )


REFRESH_S = 3.0  # seconds


def queue(services: Services) -> None:
    """Render the jobs of everyone, refreshed by itself, if this person may see them."""
    if not services.person.may(Action.SEE_QUEUE):
        return

    @st.fragment(run_every=REFRESH_S)
    def table() -> None:
        with error_boundary("The queue"):
            lines = queue_lines(services)
            busy = f"{len(lines)} under way and waiting" if lines else "nothing under way"
            st.caption(f"Queue: {busy}.")
            if lines:
                st.markdown("\n".join(["| State | Person | Run |", "|---|---|---|", *lines]))

    table()


def queue_lines(services: Services) -> list[str]:
    """Return the rows of a Markdown table: phase, who asked, and title; of others' private runs no title."""
    lines = []
    for job, status in services.scheduler.running_for():
        phase = f"waiting, {status.position} of {status.of}" if status.phase == "queued" else status.phase
        names = ", ".join(services.names.get(owner, "?") for owner in job.owners)
        lines.append(f"| {phase} | {escape_markdown(names)} | {escape_markdown(_title(services, job.order))} |")
    return lines


def _title(services: Services, order: Order[Any]) -> str:
    if not order.run:
        return "Features of a data set" if order.kind == "features" else f"Lab: {order.name}"
    try:
        title = services.runs.get(order.run).title
    except RunNotFoundError:
        title = "A private run"
    return title + {"clean": ", its training data", "project": ", a projection"}.get(order.kind, "")
