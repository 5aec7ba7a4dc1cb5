"""The queue, for teachers and admins: what runs and who waits."""

import streamlit as st

from app.runtime.people import Role
from app.runtime.services import Services
from app.widgets.error_boundary import error_boundary
from app.widgets.markdown import escape_markdown
from dmlviz.jobs.job import Key
from dmlviz.runs.run import RunNotFoundError

REFRESH_S = 3.0  # seconds


def queue(services: Services) -> None:
    """Render the jobs of everyone, refreshed by itself, if this person may see them."""
    if services.person.alone or not services.person.may(Role.TEACHER):
        return

    @st.fragment(run_every=REFRESH_S)
    def table() -> None:
        with error_boundary():
            lines = queue_lines(services)
            busy = f"{len(lines)} under way and waiting" if lines else "nothing under way"
            st.caption(f"Queue: {busy}.")
            if lines:
                st.markdown("\n".join(["| | Person | Run |", "|---|---|---|", *lines]))

    table()


def queue_lines(services: Services) -> list[str]:
    """Rows of a Markdown table: phase, who asked, and title; of others' private runs no title."""
    lines = []
    for key, status in services.scheduler.running_for():
        phase = f"waiting, {status.position} of {status.of}" if status.phase == "queued" else status.phase
        names = ", ".join(services.names.get(owner, "?") for owner in services.scheduler.owners_of(key))
        lines.append(f"| {phase} | {escape_markdown(names)} | {escape_markdown(_title(services, key))} |")
    return lines


def _title(services: Services, key: Key) -> str:
    if key.features is not None:
        return "Features of a data set"
    if key.trial is not None:
        return f"Lab: {key.trial}"
    try:
        title = services.runs.get(key.run).title
    except RunNotFoundError:
        title = "A private run"
    return title if key.projection is None else f"{title}, a projection"
