"""The teacher's board: how to join, the task for all, the guesses, and who waits in the queue."""

import time
from contextlib import suppress
from functools import lru_cache

import segno
import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.lessons import LESSONS
from dmlviz.runs.run import RunNotFoundError
from dmlviz_app.classroom.protocol import ClassroomBoardProps
from dmlviz_app.forms.selection import SeenView
from dmlviz_app.people.classroom import Classroom
from dmlviz_app.server.host_name import is_loopback, public_address
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown
from dmlviz_app.workbench import component_props
from dmlviz_app.workbench.component_props import view_props, workbench
from dmlviz_app.workbench.current_view import revealed_run, run_view_of
from dmlviz_app.workbench.protocol import WorkbenchProps

REFRESH_S = 3.0  # seconds


def classroom_board(services: Services, room: Classroom) -> None:
    """Render the board."""
    with error_boundary("The board"):
        _board(services, room)
    _map(services, room)
    _queue(services, room)


def _datasets(services: Services) -> list[str]:
    default = services.datasets.default()
    return [default, *(name for name in services.datasets.available() if name != default)]


def _map(services: Services, room: Classroom) -> None:
    """Render the map of the run with which the class keeps pictures, or whose answer is shown to it."""
    run = revealed_run(services)
    with suppress(RunNotFoundError):
        run = services.runs.get(room.gallery_run) if room.gallery_run else run
    if run is None:
        return
    with error_boundary("The map"):
        run_view = run_view_of(run, services)
        props = WorkbenchProps(
            view=view_props("class", [run_view], SeenView(), follows=False),
            maps=[component_props.map_data(run_view)],
            inspectors=[component_props.inspector_data(run_view)],
        )
        workbench("classroom.map", props, lambda seen: None)


def _board(services: Services, room: Classroom) -> None:
    link = f"{public_address(st.context.url or '', services.settings.host)}?code={room.code}"
    path, size = _qr_path(link)
    mount(
        "classroom_board",
        key=f"classroom_board.{room.code}",
        data=ClassroomBoardProps(
            code=room.code,
            url=f"{ROUTES}/classrooms/{room.code}",
            title=room.title,
            link=link,
            reachable=not is_loopback(link),
            qr=path,
            qr_size=size,
            ends=time.strftime("%H:%M", time.localtime(room.expires)),
            datasets=[{"name": name, "title": DATASETS[name].title} for name in _datasets(services)],
            lessons=[
                {"name": lesson.name, "title": lesson.title, "tasks": [task.title for task in lesson.tasks]}
                for lesson in LESSONS.values()
            ],
        ),
    )


def _queue(services: Services, room: Classroom) -> None:
    """Render the trainings of the class, running and waiting; names only when the teacher opens the list."""

    @st.fragment(run_every=REFRESH_S)
    def lines() -> None:
        with error_boundary("The queue"):
            jobs = class_jobs(services, room)
            waiting = sum(phase.startswith("waiting") for _, phase in jobs)
            with st.expander(f"Queue: {len(jobs) - waiting} under way, {waiting} waiting (opening it shows names)"):
                if jobs:
                    rows = [f"| {escape_markdown(names)} | {phase} |" for names, phase in jobs]
                    st.markdown("\n".join(["| Student | State |", "|---|---|", *rows]))
                else:
                    st.caption("No one trains.")

    lines()


def class_jobs(services: Services, room: Classroom) -> list[tuple[str, str]]:
    """Return the jobs of a class's students that run and wait: nicknames and phase."""
    jobs = []
    for job, status in services.scheduler.running_for():
        names = [room.members[owner].nickname for owner in job.owners if owner in room.members]
        if names:
            phase = f"waiting, {status.position} of {status.of}" if status.phase == "queued" else status.phase
            jobs.append((", ".join(names), phase))
    return jobs


BORDER = 4  # modules of quiet zone that the standard asks for


@lru_cache(maxsize=64)
def _qr_path(text: str) -> tuple[str, int]:
    """Return a QR code as the path of an SVG, one unit a module, and the side of the whole in units.

    Args:
        text: Content of the code.

    Returns:
        The path's `d`, and the side with the quiet zone.
    """
    code = segno.make(text, error="m", micro=False)
    row: list[int] = []
    runs = []
    for y, modules in enumerate(code.matrix_iter(border=BORDER)):
        row = list(modules)
        x = 0
        while x < len(row):
            end = x
            while end < len(row) and row[end]:
                end += 1
            if end > x:
                runs.append(f"M{x} {y}h{end - x}v1H{x}z")
            x = end + 1
    return "".join(runs), len(row)
