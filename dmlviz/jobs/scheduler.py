"""Which job runs when: slots, a queue, a warm worker for the next job, stop, and no equal request done twice."""

import contextlib
import logging
import os
import queue
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.job import Job, JobState, Key, Status
from dmlviz.jobs.job_report import JobListener, JobReport
from dmlviz.jobs.placement import EventQueue, Fleet, JobWorker, WorkerEvent
from dmlviz.jobs.pool import RpcWorker, WorkerPool
from dmlviz.jobs.trial_record import TrialRecord
from dmlviz.jobs.worker_process import WorkerProcess, worker_arguments
from dmlviz.projection import check
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run, RunNotFoundError
from dmlviz.runs.store import Runs

MAX_QUEUED_PER_OWNER = 3  # waiting jobs of one owner, besides the one under way
STOP_TIMEOUT_S = {"train": 5.0, "project": 1.5, "trial": 5.0}  # seconds from the wish to stop to the end by force
FINAL_EVAL_TIMEOUT_S = 60.0  # seconds for a training that has stopped to embed and score all test images
RESUME_WITHIN_S = 600.0  # seconds after its last sign of life in which a training on the fleet is taken up again
PATIENCE_S = 30.0  # seconds for its machine to be back
MAX_ATTEMPTS = 3  # times that a training is begun when the machines that have it are lost
PRESTART_DELAY_S = 4.0  # seconds that a job has the processor to itself before the next warm worker is made


class JobScheduler:
    """Runs trainings, projections and trials of studies in worker processes.

    Safe to use from many threads; close it at the end. Equal requests share one job and one result.

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

    def submit(self, config: TrainConfig, owner: str = "") -> str:
        """The id of the run that this training is, started or queued; one that is under way or finished is shared.

        Raise UserError when `owner` has enough under way and waiting; an empty owner may ask for any number.
        """
        key = Key(config.id)

        def prepare() -> Job | None:
            with contextlib.suppress(RunNotFoundError):
                if self.runs.get(key.run).state in ("finished", "running"):  # running: in another process
                    return None
            run = self.runs.create(config)
            return Job(key, run, _training_request(run), config.dataset, [owner])

        self._submit_job(key, owner, prepare)
        return key.run

    def resume_fleet_jobs(self, owners_of: Callable[[str], list[str]] = lambda run: [""]) -> list[str]:
        """Take up the trainings that the fleet's machines had when the last server of these runs ended.

        A machine that has gone on with one hands over all of it; otherwise it begins again, anywhere.

        Args:
            owners_of: Who asked for a run.

        Returns:
            The ids of their runs.
        """
        resumed: list[str] = []
        if self.fleet is None:
            return resumed
        for run in self.runs.list():
            machine = str(run.info.get("machine", ""))
            if not machine or _age(run) > RESUME_WITHIN_S or run.state != "interrupted":
                continue
            with self._change:
                record = self.runs.begin_again(run.id, "The server was ended.")
                job = Job(
                    Key(run.id), record, _training_request(record), record.config.dataset, owners_of(run.id) or [""]
                )
                job.lost, job.machine, job.patience = "The server was ended.", machine, time.monotonic() + PATIENCE_S
                self._queue.append(job)
                self._schedule(job, PATIENCE_S, self._on_room)
            resumed.append(run.id)
        self._on_room()
        return resumed

    def project(self, run: str, config: ProjectionConfig, owner: str = "", *, resume: bool = False) -> str:
        """Start or queue a projection of a run, shared as in `submit`.

        Args:
            run: Id of the run.
            config: The projection.
            owner: Who asks.
            resume: Continue a projection that was stopped or interrupted; otherwise it starts anew.

        Returns:
            The id of the projection.

        Raises:
            UserError: Before the run has embeddings, for parameters that its points do not allow, or as in `submit`.
        """
        source_run = self.runs.get(run)
        if source_run.embeddings is None:
            raise UserError(
                f"A projection needs the embeddings of all test images; {source_run.title} has none yet: wait until "
                "its training ends."
            )
        embeddings, _ = source_run.embeddings_at(source_run.embedded_steps[0] if config.all_epochs else config.step)
        check(config, *embeddings.shape)
        key = Key(run, config.id)

        def prepare() -> Job | None:
            with contextlib.suppress(RunNotFoundError):
                drawing = source_run.drawing(config.id)
                if drawing.state in ("finished", "running"):
                    return None
                if resume and (resume_state := drawing.resume_state) is not None:
                    return self._resumed(key, drawing, resume_state[0], source_run.config.dataset, owner)
            drawing = self.runs.create_projection(source_run, config)
            order = {"job": "project", "folder": str(drawing.path)}
            return Job(key, drawing, order, source_run.config.dataset, [owner])

        self._submit_job(key, owner, prepare)
        return config.id

    def try_out(
        self, name: str, record: TrialRecord, dataset: str, owner: str = "", on_end: Callable[[], object] = lambda: None
    ) -> Key:
        """Start or queue a trial of a study, whose record has no events yet; what comes out stands in the record.

        Args:
            name: "STUDY/TRIAL", which is unique among the jobs under way.
            record: The folder of the trial.
            dataset: Name of the data set that it reads.
            owner: Who asks.
            on_end: Called, from another thread, when it has ended in whatever way.

        Raises:
            UserError: As in `submit`.
        """
        key = Key("", None, name)

        def prepare() -> Job:
            order = {"job": "trial", "folder": str(record.path)}
            return Job(key, record, order, dataset, [owner], on_end=on_end)

        self._submit_job(key, owner, prepare)
        return key

    def status(self, run: str, projection: str | None = None) -> Status:
        """How a training (or a projection of it) stands, whoever asked for it and whenever."""
        return self._status(Key(run, projection))

    def _status(self, key: Key) -> Status:
        with self._change:
            job = self._find(key)
            if job is not None and job.worker is None:
                return Status("queued", self._in_turn().index(job) + 1, len(self._queue), lost=job.lost)
        try:
            record = job.record if job is not None else self._on_disk(key)
        except RunNotFoundError as error:
            return Status("unknown", reason=str(error))
        try:
            end = record.end
        except DamagedFileError as error:
            return Status("unknown", reason=str(error))
        if end is not None:
            return Status(end["event"], reason=end.get("reason", ""))
        if job is not None:
            phase: JobState = "stopping" if job.stopping else "running" if record.log.last() else "starting"
            return Status(phase, machine=job.worker.machine if job.worker is not None else "", lost=job.lost)
        state = record.state
        if state == "damaged":  # since the look above
            return Status("unknown")
        return Status(state, reason="The program ended before the run did." if state == "interrupted" else "")

    def stop(
        self, run: str, projection: str | None = None, owner: str | None = None, *, trial: str | None = None
    ) -> bool:
        """Stop a job: between two batches, or at once when asked a second time.

        Args:
            run: Id of the run; empty for a trial.
            projection: Id of a projection of it; None for the training.
            owner: Who no longer wants it; a job that others asked for goes on. None stops it for everybody.
            trial: "STUDY/TRIAL" for a trial.

        Returns:
            Whether the job stops; False also if there is none.
        """
        with self._change:
            job = self._find(Key(run, projection, trial))
            if job is None:
                return False
            if owner is not None and {*job.owners} - {owner, ""}:  # "" is nobody who could miss it
                job.owners = [name for name in job.owners if name != owner]
                return False
            if job.worker is None:
                self._queue.remove(job)
                self._write_end(job, "stopped", "stopped before it began")
                self._report_end(job)
                self._change.notify_all()
            elif job.stopping:
                job.worker.kill()
            else:
                job.stopping = True
                job.worker.terminate()
                self._schedule(job, STOP_TIMEOUT_S[job.request["job"]], job.worker.kill)
            return True

    def running_for(self, owner: str | None = None) -> list[tuple[Key, Status]]:
        """The jobs that run and wait, in that order; only those that `owner` shares, when given."""
        with self._change:
            jobs = [*self._active.values(), *self._in_turn()]
        return [(job.key, self._status(job.key)) for job in jobs if owner is None or owner in job.owners]

    def owners_of(self, key: Key) -> tuple[str, ...]:
        """Return who asked for a job that runs or waits; the first of them is the one whose turn it takes."""
        with self._change:
            job = self._find(key)
            return () if job is None else tuple(job.owners)

    def embed(
        self, run: str, images: np.ndarray, views: Sequence[str] | None = None, way: bool = False
    ) -> dict[str, Any]:
        """Embed images with a run's net, and place them on its maps.

        Args:
            run: Id of the run.
            images: uint8, n × h × w (× 3), prepared as those of the data set.
            views: The maps to place them on: "live" or ids of finished projections; None for all.
            way: Embed them by every checkpoint too.

        Returns:
            {"embeddings": n lists of d numbers, "places": {view: n positions}}, and with `way` also
            {"way": {"steps", "embeddings", "places"}}.

        Raises:
            UserError: Before the run's end, or for images of another size.
        """
        source_run = self.runs.get(run)
        images = np.ascontiguousarray(images, np.uint8)
        question = {
            "job": "embed",
            "run": str(source_run.path.resolve()),
            "images": b64encode(images.tobytes()).decode(),
            "shape": list(images.shape),
            "views": None if views is None else list(views),
            "way": way,
        }
        return self.inference_worker.call(question)

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

    def prestart(self) -> None:
        """Start a warm worker for the next job, unless there is one or none is wanted."""
        with self._change:
            self.pool.prestart()

    def _on_disk(self, key: Key) -> EventLogDir:
        run = self.runs.get(key.run)
        return run if key.projection is None else run.drawing(key.projection)

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

    @staticmethod
    def _resumed(key: Key, drawing: ProjectionRun, iteration: int, dataset: str, owner: str) -> Job:
        (drawing.path / "projection.json").touch()  # readers follow its events from the start again
        iterations = drawing.config.params.get("iterations")
        drawing.log.append({"event": "started", "iterations": iterations, "iteration": iteration, "time": time.time()})
        return Job(key, drawing, {"job": "project", "folder": str(drawing.path)}, dataset, [owner])

    def _wait_until_stopped(self, key: Key) -> None:
        """A job that is being stopped, or is over but for its process, is not shared: the wish is for a new one."""

        def blocked() -> bool:
            job = self._find(key)
            return job is not None and (job.stopping or _is_over(job.record))

        if blocked() and not self._change.wait_for(lambda: not blocked(), timeout=10):
            raise UserError("The same run is being stopped: try again in a few seconds.")

    def _check_limit(self, owner: str) -> None:
        jobs = [*self._active.values(), *self._queue]
        if owner and Counter(job.owners[0] for job in jobs)[owner] > MAX_QUEUED_PER_OWNER:
            raise UserError(
                f"One person has at most one job running and {MAX_QUEUED_PER_OWNER} waiting, and you have these: stop "
                "one, or "
                "wait until one ends."
            )

    def _dispatch(self) -> None:
        """Start what may start: owners take turns, with one job of each at a time."""
        for job in self._in_turn():
            if self._closed:
                return
            if job.owners[0] and job.owners[0] in {active.owners[0] for active in self._active.values()}:
                continue
            try:
                job.worker = self._place(job)
            except OSError as error:  # too many processes or open files
                self._queue.remove(job)
                self._write_end(job, "failed", f"No worker could be started: {error.strerror}.")
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
            self._schedule(job, PRESTART_DELAY_S, self.prestart)
            self._change.notify_all()

    def _in_turn(self) -> list[Job]:
        """Return what waits, in the order of its turns.

        A job whose machine was lost comes first. Then every owner's first job, of those who were served longest ago
        before others, then every owner's second job, and so on; among equals first come, first served.
        """
        waiting: Counter[str] = Counter()
        turns = []
        for number, job in enumerate(self._queue):
            owner = job.owners[0]
            turn = -1 if job.lost else waiting[owner] if owner else 0
            turns.append(((turn, self._served.get(owner, 0), number), job))
            waiting[owner] += 1
        return [job for _, job in sorted(turns, key=lambda pair: pair[0])]

    def _place(self, job: Job) -> JobWorker | None:
        """Give a job to a machine of the fleet, or else to a worker of this one; None when there is no room."""
        slots = self.slots
        if self.fleet is not None and isinstance(job.record, Run):
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
                self._cancel_timers(job)  # the training has stopped; what is left is to embed all test images
                job.stopping = True
                self._schedule(job, FINAL_EVAL_TIMEOUT_S, worker.kill)

    def _on_exit(self, event: WorkerEvent) -> None:
        with self._change:
            if self.pool.discard(event.worker):
                return
            job = self._active.pop(event.worker, None)
            if job is not None:
                self._cancel_timers(job)
                if not _is_over(job.record) and not self._closed:
                    self._end(job, event)
                if job.worker is None:
                    job = None  # it begins again elsewhere
            self._dispatch()
            if not self._active:
                self.pool.prestart()
            self._change.notify_all()
        if job is not None:
            self._report_end(job)

    def _report(self, job: Job, state: str, **more: Any) -> None:
        report = JobReport(
            kind=job.request["job"],
            run=job.key.run,
            projection=job.key.projection,
            owner=job.owners[0] if job.owners else "",
            state=state,
            trial=job.key.trial,
            waited=(job.started or time.monotonic()) - job.submitted,
            **more,
        )
        try:
            self.on_job(report)
        except Exception:  # whoever listens must not stop the jobs
            logging.getLogger(__name__).exception("a job could not be reported")

    def _report_end(self, job: Job) -> None:
        end = None
        with contextlib.suppress(DamagedFileError):
            end = job.record.end
        self._report(
            job,
            "interrupted" if end is None else end["event"],
            seconds=0.0 if job.started is None else time.monotonic() - job.started,
            worker=_worker_name(job.worker),
            reason="" if end is None else end.get("reason", ""),
        )
        job.on_end()

    def _end(self, job: Job, event: WorkerEvent) -> None:
        """Say in the log how a job ended whose worker did not; or begin it again where its machine was lost."""
        if job.stopping:
            self._write_end(job, "stopped", "stopped by hand")
        elif not event.lost:
            self._write_end(job, "failed", event.why)
        elif job.attempts == MAX_ATTEMPTS:
            self._write_end(job, "failed", f"{event.why} It was begun {MAX_ATTEMPTS} times; train it again later.")
        else:
            try:
                job.record = self.runs.begin_again(job.key.run, event.why)
            except UserError as error:
                self._write_end(job, "failed", f"{event.why} It could not be begun again: {error}")
                return
            self._report(
                job,
                "lost",
                seconds=time.monotonic() - (job.started or job.submitted),
                worker=_worker_name(job.worker),
                reason=event.why,
            )
            job.worker, job.attempts, job.lost, job.machine = None, job.attempts + 1, event.why, ""
            self._queue.insert(0, job)

    def _write_end(self, job: Job, event: str, reason: str) -> None:
        step = 0
        with contextlib.suppress(DamagedFileError):
            step = next((e["step"] for e in reversed(job.record.events()) if "step" in e), 0)
        with (
            contextlib.suppress(OSError, UserError),
            RecordWriter(job.record, time.time) as writer,
        ):  # its folder may be gone
            writer.event(event, step=step, metrics={}, reason=reason)

    def _schedule(self, job: Job, seconds: float, do: Callable[[], object]) -> None:
        timer = threading.Timer(seconds, do)
        timer.daemon = True
        job.timers.append(timer)
        timer.start()

    @staticmethod
    def _cancel_timers(job: Job) -> None:
        for timer in job.timers:
            timer.cancel()
        job.timers.clear()


def _training_request(run: Run) -> dict[str, Any]:
    """Return what a worker of this machine is told to do."""
    return {"job": "train", "folder": str(run.path)}


def _worker_name(worker: JobWorker | None) -> str:
    """Return the machine that a worker is on, or its process id on this one."""
    if worker is None:
        return ""
    return str(worker.pid) if isinstance(worker, WorkerProcess) else worker.machine


def _age(run: Run) -> float:
    """Return the seconds since a run's log grew, or since it was made."""
    try:
        return time.time() - (run.log.path if run.log.path.exists() else run.path / "run.json").stat().st_mtime
    except OSError:  # deleted
        return float("inf")


def _is_over(record: EventLogDir) -> bool:
    """Whether its log has an end that can be read."""
    try:
        return record.end is not None
    except DamagedFileError:
        return False
