"""Trainings that the machines of a fleet had when the last server of a folder of runs ended, taken up again."""

import time
from collections.abc import Callable

from dmlviz.jobs.claims import claim
from dmlviz.jobs.job import Job
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.run import Run

RESUME_WITHIN_S = 600.0  # seconds after its last sign of life in which a training on the fleet is taken up again
PATIENCE_S = 30.0  # seconds for its machine to be back


def resume_fleet_jobs(jobs: JobScheduler, owners_of: Callable[[str], list[str]] = lambda run: [""]) -> list[str]:
    """Take up the trainings that the fleet's machines had when the last server of these runs ended.

    A machine that has gone on with one hands over all of it; otherwise it begins again, anywhere.

    Args:
        jobs: The jobs, with a fleet.
        owners_of: Returns the IDs of the people who requested a run.

    Returns:
        The ids of their runs.
    """
    ids: list[str] = []
    if jobs.fleet is None:
        return ids
    reason = "The server was ended."
    for run in jobs.runs.list():
        machine = str(run.info.get("machine", ""))
        if not machine or _age(run) > RESUME_WITHIN_S or run.state != "interrupted":
            continue
        with jobs.dispatcher.change:
            order = training(jobs.runs, run.config)
            right = claim(jobs.runs.folder, order.folder)
            if right is None:
                continue
            job = Job(order, order.begin(reason), owners_of(run.id) or [""], claim=right)
            job.lost, job.machine, job.patience = reason, machine, time.monotonic() + PATIENCE_S
            jobs.turns.waiting.append(job)
            job.schedule(PATIENCE_S, jobs.dispatcher.on_room)
        ids.append(run.id)
    jobs.dispatcher.on_room()
    return ids


def _age(run: Run) -> float:
    """Return the seconds since a run's log grew, or since it was made."""
    try:
        return time.time() - (run.log.path if run.log.path.exists() else run.path / "run.json").stat().st_mtime
    except OSError:  # deleted
        return float("inf")
