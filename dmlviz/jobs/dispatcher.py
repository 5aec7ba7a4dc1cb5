"""Hands the waiting jobs of a scheduler to workers, and handles what the workers say until their end."""

import contextlib
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from dmlviz.errors import BusyError, UserError
from dmlviz.jobs.job import Job, JobListener, JobReport
from dmlviz.jobs.order import Lane
from dmlviz.jobs.placement import EventQueue, Fleet, JobWorker, Message, WorkerEvent
from dmlviz.jobs.pool import RpcWorker, WorkerPool
from dmlviz.runs.store import Runs


class Turns:
    """The jobs of a scheduler: owners take turns, with one job of each at a time. It locks nothing itself.

    Attributes:
        active: The running jobs by their workers.
        waiting: The others, in the order in which they came.
    """

    def __init__(self) -> None:
        self.active: dict[JobWorker, Job] = {}
        self.waiting: list[Job] = []
        self._last_by_owner: dict[str, int] = {}  # by owner: the number of the job that was started last
        self._count = 0

    def __iter__(self) -> Iterator[Job]:
        """All jobs, the running ones first."""
        return (one for job in [*self.active.values(), *self.waiting] for one in job.all)

    def find(self, folder: Path) -> Job | None:
        """Return the job whose record is this folder, if there is one."""
        return next((job for job in self if job.record.path == folder), None)

    def check_limit(self, owner: str, lane: Lane) -> None:
        """Raise UserError when a person, or all, have enough of a lane under way and waiting."""
        owners = Counter(job.owners[0] for job in self if job.order.lane is lane and job.first is job)
        is_over = bool(owner) and owners[owner] >= lane.of_person
        if is_over and lane.slots is None:
            raise UserError(
                f"One person has at most one job running and {lane.of_person - 1} waiting, and you have these: stop "
                "one, or wait until one ends."
            )
        if is_over or (lane.of_all is not None and owners.total() >= lane.of_all):
            raise BusyError("Other answers are being prepared for you; ask again when they are here.")

    def start(self, job: Job, worker: JobWorker) -> None:
        """Note that a waiting job begins."""
        self.waiting.remove(job)
        self.active[worker] = job
        self._count += 1
        if job.owners[0]:
            self._last_by_owner[job.owners[0]] = self._count

    def is_next(self, job: Job) -> bool:
        """Return whether a waiting job may begin: its owner has not enough running in its lane."""
        lane, owner = job.order.lane, job.owners[0]
        return not owner or self.under_way(lane, owner) < lane.of_person_at_once

    def under_way(self, lane: Lane, owner: str = "") -> int:
        """Return how many slots of a lane a person, or all, have; a few maps that only settle take none."""
        jobs = [job for job in self.active.values() if job.order.lane is lane and owner in ("", job.owners[0])]
        return len(jobs) - min(MAX_SETTLING, sum(job.order.settles for job in jobs))

    def queue_of(self, job: Job) -> list[Job]:
        """Return what waits in the lane of a job, in the order of its turns."""
        same = (one for one in self.in_order() if one.order.lane is job.order.lane)
        return [one for one in same if one is job or not one.elsewhere]

    def in_order(self) -> list[Job]:
        """Return what waits, in the order of its turns.

        A job whose machine was lost comes first. Then every owner's first job, of those who were served longest ago
        before others, then every owner's second job, and so on; among equals first come, first served.
        """
        before: Counter[str] = Counter()
        turns = []
        for number, job in enumerate(self.waiting):
            owner = job.owners[0]
            turn = -1 if job.lost else before[owner] if owner else 0
            turns.append(((turn, self._last_by_owner.get(owner, 0), number), job))
            before[owner] += 1
        return [job for _, job in sorted(turns, key=lambda pair: pair[0])]


FINAL_EVAL_TIMEOUT_S = 60.0  # seconds for a training that has stopped to embed and score all test images
LOOK_S = 1.0  # seconds between two looks whether another process still has a job
MAX_ENDED = 500  # jobs of which it is known how they ended
MAX_SETTLING = 3  # maps that settle without a slot: whoever asks for one that moves waits for none of them
MAX_ATTEMPTS = 3  # times that a job is begun when the machines that have it are lost
PRESTART_DELAY_S = 4.0  # seconds that a job has the processor to itself before the next warm worker is made
log = logging.getLogger(__name__)


class Dispatcher:
    """The slots of a scheduler and its workers. Whoever calls `dispatch` or `end` holds `change`.

    Args:
        runs: The runs.
        slots: How many jobs this machine runs at a time.
        new_pool: Makes the workers, given the queue of their messages and ends.
        inference: The worker for pictures to place, if it is to start once another has imported everything.
        fleet: Other machines, which get trainings first.
        on_job: Called when a job begins and when it has ended.

    Attributes:
        change: Held while jobs begin and end, and notified of each.
        events: Messages and ends of all workers.
        turns: The jobs.
        pool: The workers of this machine.
        ended: How the last jobs ended, and who asked for them, by the ID of the work.
    """

    def __init__(
        self,
        runs: Runs,
        slots: int,
        new_pool: Callable[[EventQueue], WorkerPool],
        inference: RpcWorker | None,
        fleet: Fleet | None,
        on_job: JobListener,
    ) -> None:
        self.slots = slots
        self.change = threading.Condition(threading.RLock())
        self.events: EventQueue = queue.SimpleQueue()
        self.turns = Turns()
        self.pool = new_pool(self.events)
        self.on_job = on_job
        self.ended: dict[str, tuple[JobReport, tuple[str, ...]]] = {}
        self.is_closed = False
        self._runs = runs
        self._inference = inference
        self._fleet = fleet
        self._thread = threading.Thread(target=self._handle_events, name="scheduler", daemon=True)
        self._thread.start()

    def dispatch(self) -> None:
        """Start jobs, in the order of their turns."""
        for job in self.turns.in_order():
            if self.is_closed:
                return
            if self._is_elsewhere(job) or not self.turns.is_next(job):
                continue
            try:
                job.worker = self._place(job)
            except OSError as error:  # too many processes or open files
                self.turns.waiting.remove(job)
                job.write_end("failed", f"No worker could be started: {error.strerror}.")
                self.report_end(job)
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
            self.change.notify_all()

    def _place(self, job: Job) -> JobWorker | None:
        """Give a job to a machine of the fleet, or else to a worker of this one; None if all slots are busy."""
        lane = job.order.lane
        if lane.slots is not None:
            return None if self.turns.under_way(lane) >= lane.slots else self.pool.answer(job.record.path)
        slots = self.slots
        if self._fleet is not None and job.order.recreate is not None:
            if job.machine and time.monotonic() < job.patience:
                return self._fleet.dispatch(job.order, job.record, only=job.machine)
            worker = self._fleet.dispatch(job.order, job.record)
            if worker is not None or (slots == 0 and self._fleet.can_train(job.order.dataset)):
                return worker
        here = [active for worker, active in self.turns.active.items() if not worker.machine]
        if sum(active.order.lane is lane for active in here) >= max(1, slots):
            return None
        return self.pool.dispatch(job.record.path, job.order.dataset)

    def _is_elsewhere(self, job: Job) -> bool:
        """Return whether another process has a waiting job; take it over where that has ended without a result."""
        if not job.elsewhere:
            return False
        job.cancel_timers()
        try:
            if job.claim_and_begin(self._runs.folder):
                if job.elsewhere:
                    job.schedule(LOOK_S, self.on_room)
                return job.elsewhere
        except (OSError, UserError) as error:
            log.error("a job could not be taken over: %s", error)
        self.turns.waiting.remove(job)
        self.report_end(job)
        return True

    def on_room(self) -> None:
        """Start what waits, since there may be room for it now."""
        with self.change:
            self.dispatch()

    def prestart(self) -> None:
        """Start a warm worker for the next job, unless there is one or none is wanted."""
        with self.change:
            self.pool.prestart()

    def _handle_events(self) -> None:
        """Handle the messages and ends of workers, one after another, until `close`."""
        for event in iter(self.events.get, None):
            try:
                if event.message is None:
                    self._on_exit(event)
                else:
                    self._on_message(event.worker, event.message)
            except Exception:  # of one job, as when no process can be started; the others go on
                log.exception("a job's worker could not be dealt with")

    def _on_message(self, worker: JobWorker, message: Message) -> None:
        if message.get("ready") and self._inference is not None:
            with contextlib.suppress(UserError):  # closing down
                self._inference.start()  # not before: two that import at once are both late
        with self.change:
            job = self.turns.active.get(worker)
            if message.get("stopping") and job is not None:
                job.cancel_timers()  # the training has stopped; what is left is to embed all test images
                job.stopping = True
                job.schedule(job.order.timeout_factor * FINAL_EVAL_TIMEOUT_S, worker.kill)

    def _on_exit(self, event: WorkerEvent) -> None:
        with self.change:
            if self.pool.discard(event.worker):
                return
            job = self.turns.active.pop(event.worker, None)
            if job is not None:
                job.cancel_timers()
                if not job.is_over and not self.is_closed:
                    self._end(job, event)
                if job.worker is None:
                    job = None  # it begins again elsewhere
                else:
                    job.release()  # before anybody may ask for the same job
            self.dispatch()
            if not self.turns.active:
                self.pool.prestart()
            self.change.notify_all()
        if job is not None:
            self.report_end(job)

    def _end(self, job: Job, event: WorkerEvent) -> None:
        """Log the end of a job whose worker did not; or begin it again if its machine was lost."""
        if job.stopping:
            job.write_end("stopped", "stopped by hand")
        elif job.is_late:
            reason = f"It took more than {job.order.limit_s:g} seconds; ask again when less is to do here."
            job.write_end("failed", reason, cause="slow")
        elif not event.lost:
            job.write_end("failed", job.why_it_failed(event.why), cause="ended")
        elif job.attempts == MAX_ATTEMPTS:
            job.write_end(
                "failed", f"{event.why} It was begun {MAX_ATTEMPTS} times; train it again later.", cause="ended"
            )
        elif job.begin_again(event.why):
            self._report(job, "lost", event.why)
            job.worker, job.attempts, job.lost, job.machine = None, job.attempts + 1, event.why, ""
            self.turns.waiting.insert(0, job)

    def _report(self, job: Job, state: str = "", reason: str = "") -> None:
        for one in job.all:
            report = one.report(state, reason)
            if not state:
                self.ended[one.order.id] = report, tuple(job.owners)
                if len(self.ended) > MAX_ENDED:
                    del self.ended[next(iter(self.ended))]
            try:
                self.on_job(report)
            except Exception:  # an error of a listener must not stop the jobs
                log.exception("a job could not be reported")

    def report_end(self, job: Job) -> None:
        """Tell the listeners that a job has ended."""
        job.release()
        self._report(job)
        for call in job.on_end:
            call()

    def close(self) -> None:
        """End every worker; jobs under way are cut off."""
        with self.change:
            self.is_closed = True
            for job in self.turns.waiting:
                job.cancel_timers()
                job.release()
            self.turns.waiting.clear()
            active = dict(self.turns.active)
            self.pool.close()
            self.change.notify_all()
        if self._fleet is not None:
            self._fleet.close()
        for worker in active:
            worker.kill()
            worker.join(5)
        self.events.put(None)
        self._thread.join(5)
        for job in active.values():  # that of a worker which does not end
            job.release()
