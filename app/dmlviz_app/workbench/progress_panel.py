"""Progress of a run or a projection, with its own Stop."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from dmlviz.jobs.claims import work_id
from dmlviz.jobs.job import Job, Status
from dmlviz.jobs.order import JOBS, MAPS
from dmlviz.runs.run import LIVE, ProjectionRun, Run
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.components import mount
from dmlviz_app.workbench import component_props, projection_picker
from dmlviz_app.workbench.current_view import RunView
from dmlviz_app.workbench.protocol import ProgressProps, WaitsFor

_UNCOVERS = "uncovers"  # how often this session has uncovered a map


def progress_panel(
    ui: UIState,
    services: Services,
    run_view: RunView,
    key: str = "progress",
    on_leave: Callable[[], None] | None = None,
) -> None:
    """Render the progress of the run (or the projection), with its own Stop.

    Args:
        ui: State of the page.
        services: The session's services.
        run_view: The run, with its projection; the training itself while it goes on beside a finished projection, or
            one that follows it.
        key: Of the component.
        on_leave: Leaves the view when its projection is canceled; by default for the view before.
    """
    follows = run_view.follows
    if follows or (run_view.live and run_view.projection_status == Status("finished")):
        run_view = replace(run_view, projection=None, projection_status=None)
    status = run_view.status if run_view.projection_status is None else run_view.projection_status
    running = run_view.projection_live if run_view.projection is not None else run_view.live

    is_recording = run_view.run.recorded and run_view.projection is None  # its program alone can stop it

    projection_config = run_view.projection.config if run_view.projection is not None else None

    def resume() -> None:
        ui.messages.forget("map")
        projection_picker.start_projection(ui, services, run_view, resume=True)

    def cancel() -> None:
        ui.messages.forget("map")
        (on_leave or ui.restore_view)()

    lane = JOBS if run_view.projection is None else MAPS
    blocking = services.jobs.blocking(lane)[:1] if status.phase == "queued" else []

    mount(
        "progress",
        key=key,
        data=ProgressProps(
            **component_props.run_source(run_view),
            work="" if is_recording else work_id((run_view.projection or run_view.run).path),
            title=run_view.run.title if projection_config is None else projection_config.declared.title,
            uncovers=st.session_state.get(_UNCOVERS, 0),
            phase=status.phase,
            position=status.position,
            of=status.of,
            reason=status.reason,
            machine=run_view.machine if projection_config is None else "",
            lost=status.lost,
            running=running,
            projection=projection_config is not None,
            pausable=projection_config is not None and projection_config.resumable,
            waits_for_pictures=run_view.pictures is None,
            replaces_map=ui.awaits or follows,
            waits_for=next((waits_for(job, services) for job in blocking), None),
        ),
        on_resume_change=resume,
        on_cancel_change=cancel,
        reruns=True,
    )


def uncover_map() -> None:
    """Have a phone close the sidebar, which lies over the map of what was just begun or opened in it."""
    st.session_state[_UNCOVERS] = st.session_state.get(_UNCOVERS, 0) + 1


def waits_for(job: Job, services: Services) -> WaitsFor:
    """Return the title of a job, and its events where this person may follow them."""
    if not services.person.is_alone and services.person.id not in job.owners:
        return WaitsFor(run="", view=LIVE, begun=None, events_url=None, work="", title="another person's job")
    record = job.record
    if not isinstance(record, Run | ProjectionRun):
        titles = {"trial": "a trial of a lab", "features": "features of a data set", "clean": "a look through images"}
        title = titles[job.order.kind]
        return WaitsFor(run="", view=LIVE, begun=None, events_url=None, work="", title=title)
    run = services.runs.get(job.order.run)  # with the title of now
    view = RunView(run, Status("running"), None, record if isinstance(record, ProjectionRun) else None)
    title = run.title if view.projection is None else f"{view.projection.config.declared.title} of {run.title}"
    return WaitsFor(**component_props.run_source(view), work=job.order.id, title=title)
