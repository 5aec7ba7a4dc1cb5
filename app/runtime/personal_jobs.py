"""The scheduler as one person uses it: their jobs, within their limits, on what they may see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.runtime.people import Person, Role
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError
from dmlviz.jobs.job import Key, Status
from dmlviz.jobs.pool import RpcWorker
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs


@dataclass(frozen=True)
class PersonalJobs:
    """Like `JobScheduler`, for one person.

    Attributes:
        scheduler: The jobs of everyone.
        runs: The runs as this person sees them.
        person: Who asks.
        before_training: Called with the data set of a training; raises UserError if this person may not start it.
        hold: Called with a run that this person has asked for.
    """

    scheduler: JobScheduler
    runs: Runs
    person: Person
    before_training: Callable[[str], None]
    hold: Callable[[str], None]

    def submit(self, config: TrainConfig) -> str:
        """Start or queue a training and return its run, as `JobScheduler.submit`; the run is the person's too."""
        if not self.person.alone:
            self.before_training(config.dataset)
            self.check_number(Key(config.id))
        run = self.scheduler.submit(config, self.person.id)
        self.hold(run)
        return run

    def project(self, run: str, config: ProjectionConfig, *, resume: bool = False) -> str:
        """Start or queue a projection, as `JobScheduler.project`; of any run that this person may see."""
        self.runs.get(run)
        if not self.person.alone:
            self.check_number(Key(run, config.id))
        return self.scheduler.project(run, config, self.person.id, resume=resume)

    def stop(self, run: str, projection: str | None = None) -> bool:
        """Stop a job that this person asked for; an admin stops anybody's. See `JobScheduler.stop`."""
        self.runs.get(run)
        mine = Key(run, projection) in [key for key, _ in self.running_for()]
        for_all = self.person.may(Role.ADMIN) and not self.person.alone and not mine
        return self.scheduler.stop(run, projection, None if for_all else self.person.id)

    def status(self, run: str, projection: str | None = None) -> Status:
        """Return how a job of a visible run stands."""
        if not self.person.alone:
            try:
                self.runs.get(run)
            except UserError as error:
                return Status("unknown", reason=str(error))
        return self.scheduler.status(run, projection)

    def running_for(self) -> list[tuple[Key, Status]]:
        """Return this person's jobs that run and wait."""
        return self.scheduler.running_for(self.person.id)

    def embed(
        self, run: str, images: np.ndarray, views: Sequence[str] | None = None, trajectory: bool = False
    ) -> dict[str, Any]:
        """Embed images with the net of a visible run, as `JobScheduler.embed`."""
        self.runs.get(run)
        return self.scheduler.embed(run, images, views, trajectory)

    @property
    def inference_worker(self) -> RpcWorker:
        """The worker that answers questions."""
        return self.scheduler.inference_worker

    def check_number(self, key: Key) -> None:
        """Raise UserError if this person has as many jobs under way and waiting as they may; one of them may go on."""
        jobs, limit = self.running_for(), self.person.limits.jobs
        if not self.person.id:
            raise UserError("This browser sends no cookie, so your runs could not be told from others'; allow cookies.")
        if len(jobs) < limit or key in [mine for mine, _ in jobs]:
            return
        if limit == 0:
            raise UserError("You may look here, but not start jobs; ask who runs this server.")
        raise UserError(
            f"You have {len(jobs)} of the {limit} jobs that you may have under way and waiting; "
            "stop one, or wait for one to end."
        )
