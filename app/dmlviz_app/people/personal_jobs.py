"""The scheduler as one person uses it: their jobs, within their limits, on what they may see."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import num_test_images, train_labels
from dmlviz.errors import DataUnavailableError, UserError
from dmlviz.jobs.job import Job, Status
from dmlviz.jobs.order import FOLLOWS, Lane, Order, R, projection, training
from dmlviz.jobs.pool import embed_images
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.answers import EmbeddedImages, PlacedGallery
from dmlviz.runs.quota import folder_size, run_size
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run, RunNotFoundError
from dmlviz.runs.size_estimate import estimate_size
from dmlviz.studies.runner import StudyRunner
from dmlviz.studies.study import Study
from dmlviz.studies.trial import Size
from dmlviz.training.validation_split import misfit_of
from dmlviz_app.people import policy
from dmlviz_app.people.people import Person
from dmlviz_app.people.personal_datasets import PersonalDatasets
from dmlviz_app.people.personal_runs import PersonalRuns

GALLERY_TIMEOUT_S = 120.0  # seconds: a net that is new to 10,000 kept pictures embeds them first


@lru_cache(maxsize=64)
def _misfit(settings: str, folder: Path) -> str:
    config = TrainConfig.from_json(settings)
    data = train_labels(config.dataset, folder)
    return "" if data is None else misfit_of(config, data, folder)


@dataclass(frozen=True)
class PersonalJobs:
    """Like `JobScheduler`, for one person.

    Attributes:
        scheduler: The jobs of everyone.
        runs: The runs as this person sees them.
        datasets: The data sets on which this person may train.
        person: The requesting person.
        check_room: Raises UserError where this person has no room left.
        room: Returns the bytes that a new run of this person may take, and how to say whose limit that is.
    """

    scheduler: JobScheduler
    runs: PersonalRuns
    datasets: PersonalDatasets
    person: Person
    check_room: Callable[[], None]
    room: Callable[[], tuple[int, str]]

    def submit(self, order: Order[R]) -> R:
        """Start or queue a job about a run that this person may see, as `JobScheduler.submit`."""
        self.check_number(order.folder)
        return self.scheduler.submit(order, self.person.id)

    def train(self, config: TrainConfig) -> str:
        """Start or queue a training and return the ID of its run, which is the person's too."""
        run = self.scheduler.submit(self._order(config), self.person.id).id
        self.runs.hold(run)
        return run

    def race(self, configs: Sequence[TrainConfig]) -> list[str]:
        """Start or queue the trainings of a race as one job, and return the IDs of their runs: see `order.race`."""
        orders = [self._order(config, len(configs)) for config in configs]
        self.scheduler.race(orders, self.person.id)
        for order in orders:
            self.runs.hold(order.run)
        return [order.run for order in orders]

    def may_train(self, config: TrainConfig) -> bool:
        """Return whether this person may have this training now."""
        try:
            return self._order(config) is not None
        except UserError:
            return False

    def _order(self, config: TrainConfig, of: int = 1) -> Order[Run]:
        """Return the order of a training, one `of` some at a time; raise UserError if this person may not have it."""
        order = training(self.scheduler.runs, config)
        self.check_training(config.dataset, order.folder)
        if order.existing() is None:
            if said := self.misfit(config):
                raise UserError(said)
            order = training(self.scheduler.runs, config, self._check_size(config, of))
        return order

    def misfit(self, config: TrainConfig) -> str:
        """Return what `misfit_of` says; empty for images that are to be downloaded, or that are still to be made."""
        return _misfit(config.to_json(), self.datasets.folder) if config.dataset in self.datasets.available() else ""

    def is_trained(self, config: TrainConfig) -> bool:
        """Return whether a run of these settings has finished, so that `train` begins none."""
        run = training(self.scheduler.runs, config).existing()
        return run is not None and run.state == "finished"

    def blocking(self, lane: Lane) -> list[Job]:
        """Return the running jobs of which one must end before another begins: this person's, or else everybody's."""
        jobs = [job for job, _ in self.scheduler.running_for() if job.order.lane is lane]
        running = [job for job in jobs if job.worker is not None]
        return [job for job in running if self.person.id in job.owners] or running

    def project(self, run: str, config: ProjectionConfig, *, resume: bool = False, instead: str | None = None) -> None:
        """Start or queue a projection of a visible run.

        Args:
            run: ID of the run.
            config: The projection.
            resume: Go on with one that was stopped.
            instead: ID of the map that is shown, if any: this person's other maps that follow the run are stopped, and
                those of the run by the same method and program; one that follows goes on from its layout. None stops
                none.
        """
        self.runs.get(run)
        self.check_room()
        holder, begin = self.person.owner, instead or ""
        order = projection(self.scheduler.runs, run, config, resume=resume, holder=holder, begin=begin)
        for job, _ in self.running_for() if instead is not None else ():
            if job.order.run == run and job.order.folder != order.folder and _gives_way(job, config):
                self.scheduler.stop(job.record, self.person.id)
        self.submit(order)

    def stop(self, record: EventLogDir) -> bool:
        """Stop a job of this person; an admin stops any. See `JobScheduler.stop`."""
        if self.person.id in self.scheduler.owners_of(record):
            return self.scheduler.stop(record, self.person.id)
        return self.person.may(policy.STOP, "others") and self.scheduler.stop(record)

    def status(self, run: str, projection: str | None = None) -> Status:
        """Return the state of a visible run's training, or of a projection of it."""
        try:
            record = self.runs.get(run)
            return self.scheduler.status(record if projection is None else record.projection(projection))
        except RunNotFoundError as error:
            return Status("unknown", reason=str(error))

    def running_for(self) -> list[tuple[Job, Status]]:
        """Return this person's jobs that run and wait."""
        return self.scheduler.running_for(self.person.id)

    def embed(self, run: str, images: np.ndarray, *, near: int = 0, **asked: Any) -> EmbeddedImages:
        """Embed images with the net of a visible run, and place them on its maps: see `embed_images`."""
        worker, holders = self.scheduler.inference_worker, self.runs.gallery_holders(run) if near else None
        return embed_images(worker, self.runs.get(run), images, near=near, holders=holders, **asked)

    def place_gallery(
        self, run: str, place: bool = True, new: Sequence[str] = (), judge_of: Sequence[str] | None = None
    ) -> PlacedGallery:
        """Place the kept pictures that this person sees on the maps of a run; say which of the `new` ones are odd.

        With `judge_of`, those of these holders alone, with what the test images say of each.
        """
        question = {
            "ask": "gallery",
            "run": str(self.runs.get(run).path.resolve()),
            "holders": judge_of or self.runs.gallery_holders(run),
            "judge": judge_of is not None,
            "place": place,
            "new": list(new),
        }
        return cast(PlacedGallery, self.scheduler.inference_worker.call(question, timeout=GALLERY_TIMEOUT_S))

    def check_training(self, dataset: str, folder: Path | None = None) -> None:
        """Raise UserError if this person may not train on a data set, has enough jobs, or no room left."""
        if not self.datasets.may_train_on(dataset):
            raise UserError("This data set is not yours, so you cannot train on it; choose another in Data.")
        self.check_number(folder)
        self.check_room()

    def _check_size(self, config: TrainConfig, of: int) -> int:
        """Return the bytes that a run may take; raise UserError if these settings take more."""
        room, whose = self.room()
        for job in (one for lead, _ in self.running_for() for one in lead.all):
            if isinstance(job.record, Run) and job.record.id != config.id:
                room -= max(0, estimate_size(job.record.config).total - run_size(job.record.path))
        room = max(0, room) // of
        if estimate_size(config).total > room:
            with contextlib.suppress(DataUnavailableError):  # downloaded when it is first used
                estimate_size(config, num_test_images(config.dataset, self.datasets.folder)).check(room, whose)
        return room

    def check_number(self, folder: Path | None = None) -> None:
        """Raise UserError if this person has as many jobs as they may, and that of `folder` is none of them."""
        self.person.check_known()
        jobs, limit = self.running_for(), self.person.limits.jobs
        if len(jobs) < limit or folder in [job.order.folder for job, _ in jobs]:
            return
        if limit == 0:
            raise UserError("You may look here, but not start jobs; ask who runs this server.")
        raise UserError(
            f"You have {len(jobs)} of the {limit} jobs that you may have under way and waiting; "
            "stop one, or wait for one to end."
        )


@dataclass(frozen=True)
class PersonalStudies:
    """Like `StudyRunner`, for one person.

    Attributes:
        runner: The studies of everyone; a study holds no one's data, so that all may see it.
        jobs: The jobs as this person may start them.
    """

    runner: StudyRunner
    jobs: PersonalJobs

    def get(self, lab: str, size: Size, dataset: str) -> Study | None:
        """Return a study; None where it was never begun."""
        return self.runner.get(lab, size, dataset)

    def start(self, lab: str, size: Size, dataset: str, *, afresh: bool = False) -> Study:
        """Begin or resume a study, as `StudyRunner.start`; for one person of many, one trial at a time.

        Raises:
            UserError: If this person may start no jobs, or throw away the study of another person.
        """
        self.jobs.check_training(dataset)
        study = self.get(lab, size, dataset)
        if afresh and study is not None and not self.may_stop(study):
            raise UserError("Another person began this study, so you cannot begin it anew.")
        return self.runner.start(lab, size, dataset, self.jobs.person.owner, afresh=afresh)

    def may_stop(self, study: Study) -> bool:
        """Return whether this person may stop a study."""
        person, owner = self.jobs.person, study.info["owner"]
        return person.may(policy.STOP, "mine" if owner and owner == person.id else "others")

    def stop(self, study: Study) -> None:
        """Stop a study; raise UserError if another person began it."""
        if not self.may_stop(study):
            raise UserError("Another person began this study, so you cannot stop it.")
        study.request_stop()

    def used(self) -> int:
        """Return the bytes that the studies of this person take."""
        person = self.jobs.person.id
        return sum(folder_size(study.path) for study in self.runner.studies() if study.info["owner"] == person)


def _gives_way(job: Job, config: ProjectionConfig) -> bool:
    """Return whether the map of a job is over when this one is asked for: it follows, or only its settings differ."""
    if not isinstance(job.record, ProjectionRun):
        return False
    other = job.record.config
    return job.order.lane is FOLLOWS or (other.method, other.engine) == (config.method, config.engine)
