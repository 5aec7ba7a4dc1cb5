"""The queue of jobs: slots, turns, workers, stop; no job done twice at a time."""

import contextlib
import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from dmlviz.errors import UserError
from dmlviz.jobs.claims import claim
from dmlviz.jobs.job import Job, JobListener, Status, status_of
from dmlviz.jobs.order import Order, R, training
from dmlviz.jobs.placement import EventQueue, Fleet, JobWorker, WorkerEvent
from dmlviz.jobs.pool import RpcWorker, WorkerPool
from dmlviz.jobs.turns import Turns
from dmlviz.jobs.worker_process import worker_arguments
from dmlviz.runs.run import EventLogDir, Run
from dmlviz.runs.store import Runs

FINAL_EVAL_TIMEOUT_S = 60.0  # seconds for a training that has stopped to embed and score all test images
ANSWER_SLOTS = 2  # answers that are prepared at a time, beside the jobs
LOOK_S = 1.0  # seconds between two looks whether another process still has a job
MAX_ATTEMPTS = 3  # times that a job is begun when the machines that have it are lost
PRESTART_DELAY_S = 4.0  # seconds that a job has the processor to itself before the next warm worker is made
RESUME_WITHIN_S = 600.0  # seconds after its last sign of life in which a training on the fleet is taken up again
PATIENCE_S = 30.0  # seconds for its machine to be back
log = logging.getLogger(__name__)


class JobScheduler:
    """Hands jobs to worker processes. Safe to use from many threads; close it at the end.

    A job is named by its record: all that have the same folder are one.

    Args:
        runs: The runs, or the folder that holds them.
        slots: How many jobs this machine runs at a time; the number of cores less one by default. With 0 it trains
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
        self.on_job = on_job
        self.runs = runs if isinstance(runs, Runs) else Runs(runs)
        self.runs.folder = self.runs.folder.resolve()
        self.slots = max(1, (os.cpu_count() or 2) - 1) if slots is None else slots
        self.fleet = fleet
        self._inference = inference and warm
        self._change = threading.Condition(threading.RLock())
        self.turns = Turns()
        self._is_closed = False
        self._events: EventQueue = queue.SimpleQueue()
        self.pool = WorkerPool(data_root, warm, likely, self._events)
        self.inference_worker = RpcWorker(worker_arguments("--serve", data_root))
        self._thread = threading.Thread(target=self._handle_events, name="scheduler", daemon=True)
        self._thread.start()
        if fleet is not None:
            fleet.start(self._events, self._on_room)

    def submit(self, order: Order[R], owner: str = "", on_end: Callable[[], object] = lambda: None) -> R:
        """Start or queue a job, and return its record; an equal one under way is shared, and so is its result.

        Args:
            order: The work of the job.
            owner: ID of the requesting person; an empty one may ask for any number.
            on_end: Called, from another thread, when a job under way has ended in any way.

        Raises:
            UserError: When `owner` has enough under way and waiting.
        """
        with self._change:
            self._wait_until_stopped(order.folder)
            job = self.turns.find(order.folder)
            if job is not None:
                job.owners += [owner] if owner not in job.owners else []
                job.on_end.append(on_end)
                return cast(R, job.record)
            if self._is_closed:
                raise UserError("The server is shutting down: try again when it is back.")
            self.turns.check_limit(owner, order.is_answer)
            record = order.existing()
            if record is None or record.state == "running":
                job = Job(order, EventLogDir(order.folder), [owner], on_end=[on_end])
                if not self._begin(job):
                    return cast(R, job.record)
                self.turns.waiting.append(job)
                self._dispatch()
                record = cast(R, job.record)
            return record

    def _begin(self, job: Job) -> bool:
        """Claim a job and make its folder, unless another process has it; return False where its result is there."""
        if not job.order.is_answer:  # the folder of an answer is this process's
            job.claim = claim(self.runs.folder, job.order.folder)
            job.elsewhere = job.claim is None
            record = None if job.elsewhere else job.order.existing()  # it may have ended in between
            if record is not None:
                job.record = record
                job.release()
                return False
        if job.elsewhere:
            job.record = self._record_elsewhere(job.order)
            return True
        try:
            job.record = job.order.begin()
        except BaseException:
            job.release()
            raise
        return True

    @staticmethod
    def _record_elsewhere(order: Order[R]) -> R:
        """Return the record of a job that another process has claimed, and makes the folder of within milliseconds."""
        deadline = time.monotonic() + 2.0
        while True:
            try:
                return order.record(order.folder)
            except UserError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def _is_elsewhere(self, job: Job) -> bool:
        """Return whether another process has a waiting job; take it over where that has ended without a result."""
        if not job.elsewhere:
            return False
        job.cancel_timers()
        try:
            if self._begin(job):
                if job.elsewhere:
                    job.schedule(LOOK_S, self._on_room)
                return job.elsewhere
        except (OSError, UserError) as error:
            log.error("a job could not be taken over: %s", error)
        self.turns.waiting.remove(job)
        self._report_end(job)
        return True

    def resume_fleet_jobs(self, owners_of: Callable[[str], list[str]] = lambda run: [""]) -> list[str]:
        """Take up the trainings that the fleet's machines had when the last server of these runs ended.

        A machine that has gone on with one hands over all of it; otherwise it begins again, anywhere.

        Args:
            owners_of: Returns the IDs of the people who requested a run.

        Returns:
            The ids of their runs.
        """
        ids: list[str] = []
        if self.fleet is None:
            return ids
        reason = "The server was ended."
        for run in self.runs.list():
            machine = str(run.info.get("machine", ""))
            if not machine or _age(run) > RESUME_WITHIN_S or run.state != "interrupted":
                continue
            with self._change:
                order = training(self.runs, run.config)
                right = claim(self.runs.folder, order.folder)
                if right is None:
                    continue
                job = Job(order, order.begin(reason), owners_of(run.id) or [""], claim=right)
                job.lost, job.machine, job.patience = reason, machine, time.monotonic() + PATIENCE_S
                self.turns.waiting.append(job)
                job.schedule(PATIENCE_S, self._on_room)
            ids.append(run.id)
        self._on_room()
        return ids

    def stop(self, record: EventLogDir, owner: str | None = None) -> bool:
        """Stop a job: between two batches, or at once when asked a second time.

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
            if owner is not None and {*job.owners} - {owner, ""}:  # "" is no person who could miss it
                job.owners = [name for name in job.owners if name != owner]
                return False
            if job.worker is None:
                self.turns.waiting.remove(job)
                job.cancel_timers()
                if not job.elsewhere:
                    job.write_end("stopped", "stopped before it began")
                self._report_end(job)
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
            if job is not None and job.worker is None:
                kind = job.order.is_answer
                queue = [
                    one
                    for one in self.turns.in_order()
                    if one is job or (one.order.is_answer is kind and not one.elsewhere)
                ]
                return Status("queued", queue.index(job) + 1, len(queue), lost=job.lost)
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

    def owners_of(self, record: EventLogDir) -> tuple[str, ...]:
        """Return who asked for a job that runs or waits; the first of them is the one whose turn it takes."""
        with self._change:
            job = self.turns.find(record.path)
            return () if job is None else tuple(job.owners)

    def close(self) -> None:
        """End every worker; runs under way are cut off."""
        with self._change:
            self._is_closed = True
            for job in self.turns.waiting:
                job.cancel_timers()
                job.release()
            self.turns.waiting.clear()
            active = dict(self.turns.active)
            self.pool.close()
            self._change.notify_all()
        if self.fleet is not None:
            self.fleet.close()
        for worker in active:
            worker.kill()
            worker.join(5)
        self._events.put(None)
        self._thread.join(5)
        for job in active.values():  # that of a worker which does not end
            job.release()
        self.inference_worker.close()

    @property
    def ready(self) -> bool:
        """Return whether a new job would start at once or wait behind others; a warm worker that died is replaced."""
        with self._change:
            if self._is_closed:
                return False
            if self.turns.active or not self.pool.warm:
                return True
            self.pool.prestart()
            worker = self.pool.idle_worker
            return worker is not None and worker.ready.is_set() and worker.alive

    @property
    def all_slots(self) -> int:
        """The number of jobs that may run at a time, on this machine and on the machines of the fleet."""
        machines = [] if self.fleet is None else self.fleet.machines
        return max(1, self.slots + sum(machine.slots for machine in machines if not machine.refused))

    def prestart(self) -> None:
        """Start a warm worker for the next job, unless there is one or none is wanted."""
        with self._change:
            self.pool.prestart()

    def _wait_until_stopped(self, folder: Path) -> None:
        """Wait for the process of a job that is stopping or finished to exit: such a job is not shared."""

        def is_blocked() -> bool:
            job = self.turns.find(folder)
            return job is not None and (job.stopping or job.is_over)

        if is_blocked() and not self._change.wait_for(lambda: not is_blocked(), timeout=10):
            raise UserError("The same run is being stopped: try again in a few seconds.")

    def _dispatch(self) -> None:
        """Start jobs, in the order of their turns."""
        for job in self.turns.in_order():
            if self._is_closed:
                return
            if self._is_elsewhere(job) or not self.turns.is_next(job):
                continue
            try:
                job.worker = self._place(job)
            except OSError as error:  # too many processes or open files
                self.turns.waiting.remove(job)
                job.write_end("failed", f"No worker could be started: {error.strerror}.")
                self._report_end(job)
                continue
            if job.worker is None:
                continue
            self.turns.start(job, job.worker)
            job.started = time.monotonic()
            if job.attempts == 1:
                self._report(job, "starting")
            job.schedule(PRESTART_DELAY_S, self.prestart)
            if job.order.limit_s is not None:
                job.schedule(job.order.limit_s, job.worker.kill)
            self._change.notify_all()

    def _place(self, job: Job) -> JobWorker | None:
        """Give a job to a machine of the fleet, or else to a worker of this one; None if all slots are busy."""
        if job.order.is_answer:
            under_way = sum(active.order.is_answer for active in self.turns.active.values())
            return None if under_way >= ANSWER_SLOTS else self.pool.answer(job.record.path)
        slots = self.slots
        if self.fleet is not None and job.order.recreate is not None:
            if job.machine and time.monotonic() < job.patience:
                return self.fleet.dispatch(job.order, job.record, only=job.machine)
            worker = self.fleet.dispatch(job.order, job.record)
            if worker is not None or (slots == 0 and self.fleet.can_train(job.order.dataset)):
                return worker
        here = [active for worker, active in self.turns.active.items() if not worker.machine]
        if sum(not active.order.is_answer for active in here) >= max(1, slots):
            return None
        return self.pool.dispatch(job.record.path, job.order.dataset)

    def _on_room(self) -> None:
        with self._change:
            self._dispatch()

    def _handle_events(self) -> None:
        """Handle the messages and ends of workers, one after another, until `close`."""
        for event in iter(self._events.get, None):
            try:
                if event.message is None:
                    self._on_exit(event)
                else:
                    self._on_message(event.worker, event.message)
            except Exception:  # of one job, as when no process can be started; the others go on
                log.exception("a job's worker could not be dealt with")

    def _on_message(self, worker: JobWorker, message: dict[str, Any]) -> None:
        if message.get("ready") and self._inference:
            with contextlib.suppress(UserError):  # closing down
                self.inference_worker.start()  # not before: two that import at once are both late
        with self._change:
            job = self.turns.active.get(worker)
            if message.get("stopping") and job is not None:
                job.cancel_timers()  # the training has stopped; what is left is to embed all test images
                job.stopping = True
                job.schedule(job.order.timeout_factor * FINAL_EVAL_TIMEOUT_S, worker.kill)

    def _on_exit(self, event: WorkerEvent) -> None:
        with self._change:
            if self.pool.discard(event.worker):
                return
            job = self.turns.active.pop(event.worker, None)
            if job is not None:
                job.cancel_timers()
                if not job.is_over and not self._is_closed:
                    self._end(job, event)
                if job.worker is None:
                    job = None  # it begins again elsewhere
                else:
                    job.release()  # before anybody may ask for the same job
            self._dispatch()
            if not self.turns.active:
                self.pool.prestart()
            self._change.notify_all()
        if job is not None:
            self._report_end(job)

    def _end(self, job: Job, event: WorkerEvent) -> None:
        """Log the end of a job whose worker did not; or begin it again if its machine was lost."""
        if job.stopping:
            job.write_end("stopped", "stopped by hand")
        elif job.is_late:
            job.write_end(
                "failed", f"It took more than {job.order.limit_s:g} seconds; ask again when less is to do here."
            )
        elif not event.lost:
            job.write_end("failed", job.why_it_failed(event.why))
        elif job.attempts == MAX_ATTEMPTS:
            job.write_end("failed", f"{event.why} It was begun {MAX_ATTEMPTS} times; train it again later.")
        elif job.begin_again(event.why):
            self._report(job, "lost", event.why)
            job.worker, job.attempts, job.lost, job.machine = None, job.attempts + 1, event.why, ""
            self.turns.waiting.insert(0, job)

    def _report(self, job: Job, state: str = "", reason: str = "") -> None:
        try:
            self.on_job(job.report(state, reason))
        except Exception:  # an error of a listener must not stop the jobs
            log.exception("a job could not be reported")

    def _report_end(self, job: Job) -> None:
        job.release()
        self._report(job)
        for call in job.on_end:
            call()


def _age(run: Run) -> float:
    """Return the seconds since a run's log grew, or since it was made."""
    try:
        return time.time() - (run.log.path if run.log.path.exists() else run.path / "run.json").stat().st_mtime
    except OSError:  # deleted
        return float("inf")
