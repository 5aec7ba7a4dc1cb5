"""What jobs there are: trainings, projections, trials of studies and features, each done once for all who ask."""

import contextlib
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.features_record import FeaturesRecord
from dmlviz.jobs.job import Job, JobState, Key, Status
from dmlviz.jobs.job_queue import JobQueue
from dmlviz.jobs.pool import ANSWER_TIMEOUT_S
from dmlviz.jobs.trial_record import TrialRecord
from dmlviz.jobs.turns import in_turn
from dmlviz.projection import check
from dmlviz.runs.projection_items import projected_embeddings
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run, RunNotFoundError

RESUME_WITHIN_S = 600.0  # seconds after its last sign of life in which a training on the fleet is taken up again
PATIENCE_S = 30.0  # seconds for its machine to be back


class JobScheduler(JobQueue):
    """Runs trainings, projections, trials and features in worker processes; its arguments are those of `JobQueue`.

    Equal requests share one job and one result.
    """

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
                job.schedule(PATIENCE_S, self._on_room)
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
        step = source_run.embedded_steps[0] if config.all_epochs else config.step
        embeddings, _ = projected_embeddings(source_run, config, step)
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

    def compute_features(
        self, record: FeaturesRecord, owner: str = "", on_end: Callable[[], object] = lambda: None
    ) -> Key:
        """Start or queue the features of a data set, whose record has no events yet; what comes out stands in there.

        Args:
            record: The folder in which they are computed.
            owner: Who asks.
            on_end: Called, from another thread, when it has ended in whatever way.

        Raises:
            UserError: As in `submit`.
        """
        key = Key("", features=record.id)

        def prepare() -> Job:
            order = {"job": "features", "folder": str(record.path.resolve())}
            return Job(key, record, order, record.order["dataset"], [owner], on_end=on_end)

        self._submit_job(key, owner, prepare)
        return key

    def features_status(self, record: FeaturesRecord) -> Status:
        """How the features of a record stand, whoever asked for them and whenever."""
        return self._status(Key("", features=record.id), record)

    def status(self, run: str, projection: str | None = None) -> Status:
        """How a training (or a projection of it) stands, whoever asked for it and whenever."""
        return self._status(Key(run, projection))

    def _status(self, key: Key, record: EventLogDir | None = None) -> Status:
        with self._change:
            job = self._find(key)
            if job is not None and job.worker is None:
                return Status(
                    "queued", in_turn(self._queue, self._served).index(job) + 1, len(self._queue), lost=job.lost
                )
        try:
            record = job.record if job is not None else record or self._on_disk(key)
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

    def running_for(self, owner: str | None = None) -> list[tuple[Key, Status]]:
        """The jobs that run and wait, in that order; only those that `owner` shares, when given."""
        with self._change:
            jobs = [*self._active.values(), *in_turn(self._queue, self._served)]
        return [(job.key, self._status(job.key)) for job in jobs if owner is None or owner in job.owners]

    def embed(
        self, run: str, images: np.ndarray, views: Sequence[str] | None = None, trajectory: bool = False
    ) -> dict[str, Any]:
        """Embed images with a run's net, and place them on its maps.

        Args:
            run: Id of the run.
            images: uint8, n × h × w (× 3), prepared as those of the data set.
            views: The maps to place them on: "live" or ids of finished projections; None for all.
            trajectory: Embed them by every checkpoint too.

        Returns:
            {"embeddings": n lists of d numbers, "places": {view: n positions}}, and with `trajectory` also
            {"trajectory": {"steps", "embeddings", "places"}}.

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
            "trajectory": trajectory,
        }
        slow = len(images) if source_run.config.unfrozen_blocks else 0  # a second an image, without a GPU
        return self.inference_worker.call(question, timeout=ANSWER_TIMEOUT_S + slow)

    def _on_disk(self, key: Key) -> EventLogDir:
        run = self.runs.get(key.run)
        return run if key.projection is None else run.drawing(key.projection)

    @staticmethod
    def _resumed(key: Key, drawing: ProjectionRun, iteration: int, dataset: str, owner: str) -> Job:
        (drawing.path / "projection.json").touch()  # readers follow its events from the start again
        iterations = drawing.config.params.get("iterations")
        drawing.log.append({"event": "started", "iterations": iterations, "iteration": iteration, "time": time.time()})
        return Job(key, drawing, {"job": "project", "folder": str(drawing.path)}, dataset, [owner])


def _training_request(run: Run) -> dict[str, Any]:
    """Return what a worker of this machine is told to do."""
    return {"job": "train", "folder": str(run.path)}


def _age(run: Run) -> float:
    """Return the seconds since a run's log grew, or since it was made."""
    try:
        return time.time() - (run.log.path if run.log.path.exists() else run.path / "run.json").stat().st_mtime
    except OSError:  # deleted
        return float("inf")
