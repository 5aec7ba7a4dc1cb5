"""The panel above the list of runs: the queue, for teachers and admins."""

from typing import Any

import streamlit as st

from dmlviz.jobs.order import Order
from dmlviz.runs.run import RunNotFoundError
from dmlviz_app.people import policy
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown

REFRESH_S = 3.0  # seconds


def queue(services: Services) -> None:
    """Render the jobs of everyone, refreshed by itself, if this person may see them."""
    if not services.person.may(policy.SEE_QUEUE):
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
