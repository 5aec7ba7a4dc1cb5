"""The queue of jobs: slots, turns, workers, stop; no job done twice at a time."""

import contextlib
import logging
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dmlviz.errors import UserError
from dmlviz.jobs.job import Job, Key
from dmlviz.jobs.job_end import begin_again, how_it_ended, is_over, report_of, why_it_failed, worker_name, write_end
from dmlviz.jobs.job_report import JobListener
from dmlviz.jobs.placement import EventQueue, Fleet, JobWorker, WorkerEvent
from dmlviz.jobs.pool import RpcWorker, WorkerPool
from dmlviz.jobs.trial_record import TrialRecord
from dmlviz.jobs.turns import in_turn
from dmlviz.jobs.worker_process import worker_arguments
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs

MAX_QUEUED_PER_OWNER = 3  # waiting jobs of one owner, besides the one under way
STOP_TIMEOUT_S = {
    "train": 5.0,
    "project": 1.5,
    "trial": 1.5,
    "features": 3.0,
}  # seconds from the wish to stop to the end by force
FINAL_EVAL_TIMEOUT_S = 60.0  # seconds for a training that has stopped to embed and score all test images
MAX_ATTEMPTS = 3  # times that a training is begun when the machines that have it are lost
PRESTART_DELAY_S = 4.0  # seconds that a job has the processor to itself before the next warm worker is made


class JobQueue:
    """Hands jobs to worker processes. Safe to use from many threads; close it at the end.

    Args:
        runs: The runs, or the folder that holds them.
        slots: How many jobs this machine runs at a time; the number of cores less one by default. With 0 it trains
            only what the fleet cannot, and still projects.
        data_root: Where the data sets are.
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
        self._queue: list[Job] = []
        self._served: dict[str, int] = {}  # by owner: the number of the job that was started last
        self._started = 0
        self._active: dict[JobWorker, Job] = {}
        self._closed = False
        self._events: EventQueue = queue.SimpleQueue()
        self.pool = WorkerPool(data_root, warm, likely, self._events)
        self.inference_worker = RpcWorker(worker_arguments("--serve", data_root))
        self._thread = threading.Thread(target=self._handle_events, name="scheduler", daemon=True)
        self._thread.start()
        if fleet is not None:
            fleet.start(self._events, self._on_room)

    def stop(
        self,
        run: str,
        projection: str | None = None,
        owner: str | None = None,
        *,
        trial: str | None = None,
        features: str | None = None,
    ) -> bool:
        """Stop a job: between two batches, or at once when asked a second time.

        Args:
            run: Id of the run; empty for a trial and for features.
            projection: Id of a projection of it; None for the training.
            owner: Who no longer wants it; a job that others asked for goes on. None stops it for everybody.
            trial: "STUDY/TRIAL" for a trial.
            features: Name of the folder for features.

        Returns:
            Whether the job stops; False also if there is none.
        """
        with self._change:
            job = self._find(Key(run, projection, trial, features))
            if job is None:
                return False
            if owner is not None and {*job.owners} - {owner, ""}:  # "" is nobody who could miss it
                job.owners = [name for name in job.owners if name != owner]
                return False
            if job.worker is None:
                self._queue.remove(job)
                write_end(job, "stopped", "stopped before it began")
                self._report_end(job)
                self._change.notify_all()
            elif job.stopping:
                job.worker.kill()
            else:
                job.stopping = True
                job.worker.terminate()
                job.schedule(job.leisure * STOP_TIMEOUT_S[job.request["job"]], job.worker.kill)
            return True

    def owners_of(self, key: Key) -> tuple[str, ...]:
        """Return who asked for a job that runs or waits; the first of them is the one whose turn it takes."""
        with self._change:
            job = self._find(key)
            return () if job is None else tuple(job.owners)

    def close(self) -> None:
        """End every worker; runs under way are cut off."""
        with self._change:
            self._closed = True
            self._queue.clear()
            active = list(self._active)
            self.pool.close()
            self._change.notify_all()
        if self.fleet is not None:
            self.fleet.close()
        for worker in active:
            worker.kill()
            worker.join(5)
        self._events.put(None)
        self._thread.join(5)
        self.inference_worker.close()

    @property
    def ready(self) -> bool:
        """Whether a job that came now would start at once, or wait behind others. Replaces a warm worker that died."""
        with self._change:
            if self._closed:
                return False
            if self._active or not self.pool.warm:
                return True
            self.pool.prestart()
            worker = self.pool.idle_worker
            return worker is not None and worker.ready.is_set() and worker.alive

    @property
    def all_slots(self) -> int:
        """How many jobs may run at a time, here and on the machines of the fleet."""
        machines = [] if self.fleet is None else self.fleet.machines
        return max(1, self.slots + sum(machine.slots for machine in machines if not machine.refused))

    def prestart(self) -> None:
        """Start a warm worker for the next job, unless there is one or none is wanted."""
        with self._change:
            self.pool.prestart()

    def _find(self, key: Key) -> Job | None:
        return next((job for job in [*self._active.values(), *self._queue] if job.key == key), None)

    def _submit_job(self, key: Key, owner: str, prepare: Callable[[], Job | None]) -> None:
        """Share the job of that key, or queue the one that `prepare` makes unless it finds the result on disk."""
        with self._change:
            self._wait_until_stopped(key)
            job = self._find(key)
            if job is not None:
                job.owners += [owner] if owner not in job.owners else []
                return
            if self._closed:
                raise UserError("The server is shutting down: try again when it is back.")
            self._check_limit(owner)
            job = prepare()
            if job is not None:
                self._queue.append(job)
                self._dispatch()

    def _wait_until_stopped(self, key: Key) -> None:
        """A job that is being stopped, or is over but for its process, is not shared: the wish is for a new one."""

        def blocked() -> bool:
            job = self._find(key)
            return job is not None and (job.stopping or is_over(job.record))

        if blocked() and not self._change.wait_for(lambda: not blocked(), timeout=10):
            raise UserError("The same run is being stopped: try again in a few seconds.")

    def _check_limit(self, owner: str) -> None:
        jobs = [*self._active.values(), *self._queue]
        if owner and Counter(job.owners[0] for job in jobs)[owner] > MAX_QUEUED_PER_OWNER:
            raise UserError(
                f"One person has at most one job running and {MAX_QUEUED_PER_OWNER} waiting, and you have these: stop "
                "one, or wait until one ends."
            )

    def _dispatch(self) -> None:
        """Start what may start: owners take turns, with one job of each at a time."""
        for job in in_turn(self._queue, self._served):
            if self._closed:
                return
            if job.owners[0] and job.owners[0] in {active.owners[0] for active in self._active.values()}:
                continue
            try:
                job.worker = self._place(job)
            except OSError as error:  # too many processes or open files
                self._queue.remove(job)
                write_end(job, "failed", f"No worker could be started: {error.strerror}.")
                self._report_end(job)
                continue
            if job.worker is None:
                continue
            self._queue.remove(job)
            self._active[job.worker] = job
            job.started = time.monotonic()
            if job.attempts == 1:
                self._report(job, "starting")
            self._started += 1
            if job.owners[0]:
                self._served[job.owners[0]] = self._started
            job.schedule(PRESTART_DELAY_S, self.prestart)
            self._change.notify_all()

    def _place(self, job: Job) -> JobWorker | None:
        """Give a job to a machine of the fleet, or else to a worker of this one; None when there is no room."""
        slots = self.slots
        if self.fleet is not None and isinstance(job.record, Run | TrialRecord):
            if job.machine and time.monotonic() < job.patience:
                return self.fleet.dispatch(job.record, only=job.machine)
            worker = self.fleet.dispatch(job.record)
            if worker is not None or (slots == 0 and self.fleet.can_train(job.dataset)):
                return worker
        if sum(not worker.machine for worker in self._active) >= max(1, slots):
            return None
        return self.pool.dispatch(job.request, job.dataset)

    def _on_room(self) -> None:
        with self._change:
            self._dispatch()

    def _handle_events(self) -> None:
        """Take what workers say and how they end, one after another, until `close`."""
        for event in iter(self._events.get, None):
            try:
                if event.message is None:
                    self._on_exit(event)
                else:
                    self._on_message(event.worker, event.message)
            except Exception:  # of one job, as when no process can be started; the others go on
                logging.getLogger(__name__).exception("a job's worker could not be dealt with")

    def _on_message(self, worker: JobWorker, message: dict[str, Any]) -> None:
        if message.get("ready") and self._inference:
            with contextlib.suppress(UserError):  # closing down
                self.inference_worker.start()  # not before: two that import at once are both late
        with self._change:
            job = self._active.get(worker)
            if message.get("stopping") and job is not None:
                job.cancel_timers()  # the training has stopped; what is left is to embed all test images
                job.stopping = True
                job.schedule(job.leisure * FINAL_EVAL_TIMEOUT_S, worker.kill)

    def _on_exit(self, event: WorkerEvent) -> None:
        with self._change:
            if self.pool.discard(event.worker):
                return
            job = self._active.pop(event.worker, None)
            if job is not None:
                job.cancel_timers()
                if not is_over(job.record) and not self._closed:
                    self._end(job, event)
                if job.worker is None:
                    job = None  # it begins again elsewhere
            self._dispatch()
            if not self._active:
                self.pool.prestart()
            self._change.notify_all()
        if job is not None:
            self._report_end(job)

    def _end(self, job: Job, event: WorkerEvent) -> None:
        """Say in the log how a job ended whose worker did not; or begin it again where its machine was lost."""
        if job.stopping:
            write_end(job, "stopped", "stopped by hand")
        elif not event.lost:
            write_end(job, "failed", why_it_failed(job, event.why))
        elif job.attempts == MAX_ATTEMPTS:
            write_end(job, "failed", f"{event.why} It was begun {MAX_ATTEMPTS} times; train it again later.")
        elif begin_again(job, self.runs, event.why):
            seconds = time.monotonic() - (job.started or job.submitted)
            self._report(job, "lost", seconds=seconds, worker=worker_name(job.worker), reason=event.why)
            job.worker, job.attempts, job.lost, job.machine = None, job.attempts + 1, event.why, ""
            self._queue.insert(0, job)

    def _report(self, job: Job, state: str, **more: Any) -> None:
        try:
            self.on_job(report_of(job, state, **more))
        except Exception:  # whoever listens must not stop the jobs
            logging.getLogger(__name__).exception("a job could not be reported")

    def _report_end(self, job: Job) -> None:
        state, more = how_it_ended(job)
        self._report(job, state, **more)
        job.on_end()
