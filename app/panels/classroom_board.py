"""The teacher's board: how to join, the task for all, the guesses, and who waits in the queue."""

import time

import streamlit as st

from app.payloads.protocol.common import ROUTES
from app.payloads.qr_code import qr_path
from app.runtime.classroom import Classroom
from app.runtime.public_address import is_loopback, public_address
from app.runtime.services import Services
from app.widgets.components import mount
from app.widgets.error_boundary import error_boundary
from app.widgets.markdown import escape_markdown
from dmlviz.lessons import LESSONS

REFRESH_S = 3.0  # seconds


def classroom_board(services: Services, room: Classroom) -> None:
    """Render the board."""
    link = f"{public_address(st.context.url or '', services.settings.host)}?code={room.code}"
    path, size = qr_path(link)
    mount(
        "classroom_board",
        key=f"classroom_board.{room.code}",
        data={
            "code": room.code,
            "url": f"{ROUTES}/classrooms/{room.code}",
            "title": room.title,
            "link": link,
            "reachable": not is_loopback(link),
            "qr": path,
            "qr_size": size,
            "ends": time.strftime("%H:%M", time.localtime(room.expires)),
            "lessons": [
                {"name": lesson.name, "title": lesson.title, "tasks": [task.title for task in lesson.tasks]}
                for lesson in LESSONS.values()
            ],
        },
    )
    _queue(services, room)


def _queue(services: Services, room: Classroom) -> None:
    """Render who of the class trains and who waits; names only when the teacher opens the list."""

    @st.fragment(run_every=REFRESH_S)
    def lines() -> None:
        with error_boundary():
            jobs = class_jobs(services, room)
            waiting = sum(phase.startswith("waiting") for _, phase in jobs)
            with st.expander(f"Queue: {len(jobs) - waiting} under way, {waiting} waiting (opening it shows names)"):
                if jobs:
                    rows = [f"| {escape_markdown(names)} | {phase} |" for names, phase in jobs]
                    st.markdown("\n".join(["| Student | |", "|---|---|", *rows]))
                else:
                    st.caption("Nobody trains.")

    lines()


def class_jobs(services: Services, room: Classroom) -> list[tuple[str, str]]:
    """Return the jobs of a class's students that run and wait: nicknames and phase."""
    jobs = []
    for key, status in services.scheduler.running_for():
        owners = services.scheduler.owners_of(key)
        names = [room.members[owner].nickname for owner in owners if owner in room.members]
        if names:
            phase = f"waiting, {status.position} of {status.of}" if status.phase == "queued" else status.phase
            jobs.append((", ".join(names), phase))
    return jobs
