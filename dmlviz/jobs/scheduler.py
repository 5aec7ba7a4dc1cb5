"""The queue of jobs: slots, turns, workers, stop; no job done twice at a time."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from dmlviz.errors import BusyError, UserError
from dmlviz.jobs.claims import claim, is_claimed
from dmlviz.jobs.dispatcher import Dispatcher
from dmlviz.jobs.job import Job, JobListener, JobReport, Status, status_of
from dmlviz.jobs.order import Order, R, race, training
from dmlviz.jobs.placement import Fleet
from dmlviz.jobs.pool import RpcWorker, WorkerPool
from dmlviz.jobs.worker_process import worker_arguments
from dmlviz.runs.run import EventLogDir, Run
from dmlviz.runs.store import Runs

RESUME_WITHIN_S = 600.0  # seconds after its last sign of life in which a training on the fleet is taken up again
STOP_WAIT_S = 10.0  # seconds that who asks for a job anew waits for the end of the one before
PATIENCE_S = 30.0  # seconds for its machine to be back


class JobScheduler:
    """Hands jobs to worker processes. Safe to use from many threads; close it at the end.

    A job is named by its record: all that have the same folder are one.

    Args:
        runs: The runs, or the folder that holds them.
        slots: How many jobs of a lane run here at a time; the number of cores less one by default. With 0 it trains
            only what the fleet cannot, and still projects.
        data_root: The folder of the data sets.
        warm: Whether one worker that has imported everything waits for the next job, and another for pictures to place.
        likely: The data set that the first warm worker loads.
        inference: Whether a worker is started ahead for pictures to place.
        fleet: Other machines, which get trainings first.
        on_job: Called when a job begins and when it has ended.
    """

    def __init__(
        self,
        runs: Runs | Path,
        slots: int | None = None,
        data_root: Path | None = None,
        *,
        warm: bool = True,
        likely: str | None = None,
        inference: bool = True,
        fleet: Fleet | None = None,
        on_job: JobListener = lambda report: None,
    ) -> None:
        self.runs = runs if isinstance(runs, Runs) else Runs(runs)
        self.runs.folder = self.runs.folder.resolve()
        self.slots = max(1, (os.cpu_count() or 2) - 1) if slots is None else slots
        self.fleet = fleet
        self.inference_worker = RpcWorker(worker_arguments("--serve", data_root))
        self.dispatcher = Dispatcher(
            self.runs,
            self.slots,
            lambda events: WorkerPool(data_root, warm, likely, events),
            self.inference_worker if inference and warm else None,
            fleet,
            on_job,
        )
        self.turns = self.dispatcher.turns
        self._change = self.dispatcher.change
        if fleet is not None:
            fleet.start(self.dispatcher.events, self.dispatcher.on_room)

    def submit(self, order: Order[R], owner: str = "", on_end: Callable[[], object] = lambda: None) -> R:
        """Start or queue a job, and return its record; an equal one under way is shared, and so is its result.

        Args:
            order: The work of the job.
            owner: ID of the requesting person; an empty one may ask for any number.
            on_end: Called, from another thread, when a job under way has ended in any way.

        Raises:
            UserError: When `owner` has enough under way and waiting, or an equal job takes long to stop.
        """
        with self._change:
            self._wait_until_stopped(order.folder)
            job = self.turns.find(order.folder)
            if job is not None:
                job.owners += [owner] if owner not in job.owners else []
                job.first.on_end.append(on_end)
                return cast(R, job.record)
            if self.dispatcher.is_closed:
                raise UserError("The server is shutting down: try again when it is back.")
            self.turns.check_limit(owner, order.lane)
            record = order.existing()
            if record is None or record.state == "running":
                job = Job(order, EventLogDir(order.folder), [owner], on_end=[on_end])
                if not job.claim_and_begin(self.runs.folder):
                    return cast(R, job.record)
                self.turns.waiting.append(job)
                self.dispatcher.dispatch()
                record = cast(R, job.record)
            return record

    def race(self, orders: Sequence[Order[Run]], owner: str = "") -> None:
        """Start or queue the trainings that are neither trained nor under way as one job: see `order.race`.

        Raises:
            UserError: As `submit`.
        """
        with self._change:
            missing = [
                order
                for order in orders
                if self.turns.find(order.folder) is None
                and not is_claimed(self.runs.folder, order.folder)
                and order.existing() is None
            ]
            if missing:
                self.submit(race(*missing) if len(missing) > 1 else missing[0], owner)

    def stop(self, record: EventLogDir, owner: str | None = None) -> bool:
        """Stop a job, and all that race with it: between two batches, or at once when asked a second time.

        Args:
            record: Its record.
            owner: The person who cancels it; a job that others requested goes on. None stops it for all.

        Returns:
            Whether the job stops; False also if there is none.
        """
        with self._change:
            job = self.turns.find(record.path)
            if job is None:
                return False
            job = job.first
            if owner is not None and {*job.owners} - {owner, ""}:  # "" is no person who could miss it
                job.owners[:] = [name for name in job.owners if name != owner]
                return False
            if job.worker is None:
                self.turns.waiting.remove(job)
                job.cancel_timers()
                if not job.elsewhere:
                    job.write_end("stopped", "stopped before it began")
                self.dispatcher.report_end(job)
                self._change.notify_all()
            elif job.stopping:
                job.worker.kill()
            else:
                job.stopping = True
                job.worker.terminate()
                job.schedule(job.order.timeout_factor * job.order.stop_timeout_s, job.worker.kill)
            return True

    def status(self, record: EventLogDir) -> Status:
        """Return the state of the job of a record, for any owner and at any time."""
        with self._change:
            job = self.turns.find(record.path)
            elsewhere = status_of(record, None) if job is not None and job.elsewhere else None
            if elsewhere is not None and elsewhere.phase not in ("interrupted", "unknown"):
                return elsewhere
            if job is not None and job.first.worker is None:
                queue = self.turns.queue_of(job.first)
                return Status("queued", queue.index(job.first) + 1, len(queue), lost=job.lost)
        return status_of(record, job)

    def running_for(self, owner: str | None = None, answers: bool = False) -> list[tuple[Job, Status]]:
        """Return the running and the waiting jobs, in that order.

        Args:
            owner: Only the jobs that this person shares.
            answers: With answers too, which pages wait for.
        """
        with self._change:
            every = [*self.turns.active.values(), *self.turns.in_order()]
        jobs = [job for job in every if answers or not job.order.is_answer]
        return [(job, self.status(job.record)) for job in jobs if owner is None or owner in job.owners]

    def find(self, work: str) -> Job | None:
        """Return the job of this ID that runs or waits."""
        with self._change:
            return next((job for job in self.turns if job.order.id == work), None)

    def ended(self, work: str) -> tuple[JobReport, tuple[str, ...]] | None:
        """Return how the job of this ID ended, and who asked for it; None where that is not known, or not any more."""
        with self._change:
            return self.dispatcher.ended.get(work)

    def owners_of(self, record: EventLogDir) -> tuple[str, ...]:
        """Return who asked for a job that runs or waits; the first of them is the one whose turn it takes."""
        with self._change:
            job = self.turns.find(record.path)
            return () if job is None else tuple(job.owners)

    def close(self) -> None:
        """End every worker; runs under way are cut off."""
        self.dispatcher.close()
        self.inference_worker.close()

    @property
    def ready(self) -> bool:
        """Return whether a new job would start at once or wait behind others; a warm worker that died is replaced."""
        with self._change:
            if self.dispatcher.is_closed:
                return False
            if self.turns.active or not self.dispatcher.pool.warm:
                return True
            self.dispatcher.pool.prestart()
            worker = self.dispatcher.pool.idle_worker
            return worker is not None and worker.ready.is_set() and worker.alive

    @property
    def all_slots(self) -> int:
        """The number of jobs that may run at a time, on this machine and on the machines of the fleet."""
        machines = [] if self.fleet is None else self.fleet.machines
        return max(1, self.slots + sum(machine.slots for machine in machines if not machine.refused))

    def _wait_until_stopped(self, folder: Path) -> None:
        """Wait for the process of a job that is stopping or finished to exit: such a job is not shared."""

        def is_blocked() -> bool:
            with self._change:
                job = self.turns.find(folder)
                return job is not None and (job.first.stopping or job.first.is_over)

        if is_blocked() and not self._change.wait_for(lambda: not is_blocked(), timeout=STOP_WAIT_S):
            raise BusyError("The same run is being stopped: try again in a few seconds.", is_blocked)


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
