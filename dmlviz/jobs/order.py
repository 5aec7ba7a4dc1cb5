"""Orders of jobs: a training, a projection of a run, a trial of a study, features of a data set, an answer."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.jobs.claims import is_claimed, work_id
from dmlviz.jobs.job_record import (
    ORDER_FILE,
    AnswerOrder,
    AnswerRecord,
    FeaturesOrder,
    FeaturesRecord,
    OrderContent,
    ProjectOrder,
    TrainOrder,
    TrialOrder,
    TrialRecord,
)
from dmlviz.projection import check
from dmlviz.runs.projection_run import projected_embeddings, started
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run, RunNotFoundError
from dmlviz.runs.store import Runs
from dmlviz.storage.files import write_json

R = TypeVar("R", bound=EventLogDir)

SHARED = ("finished", "running")  # states of a record without a job here; running: in another process
TRAINING_STOP_TIMEOUT_S = 5.0
LARGE_NET_FACTOR = 60  # for a training with unfrozen blocks: a step of a large net on a CPU may take a minute


@dataclass(frozen=True, kw_only=True)
class Lane:
    """Work that shares slots and limits.

    Attributes:
        slots: How many run at a time; None for the scheduler's number.
        of_person: How many one person has running and waiting.
        of_all: How many all have; None for any number.
        of_person_at_once: How many of one person run at a time.
    """

    slots: int | None
    of_person: int
    of_all: int | None
    of_person_at_once: int = 1


JOBS = Lane(slots=None, of_person=4, of_all=None)
MAPS = Lane(slots=None, of_person=4, of_all=None)  # of what is there: a training waits for none of them
ANSWERS = Lane(slots=2, of_person=6, of_all=60)
FOLLOWS = Lane(slots=2, of_person=6, of_all=None, of_person_at_once=2)  # maps beside the trainings that they follow
UPLOADS = Lane(slots=2, of_person=3, of_all=60)  # read for minutes; of one person one at a time, and those before it


@dataclass(frozen=True, kw_only=True)
class Order(Generic[R]):
    """The work of a job. Equal orders have the same folder, and share one job and one result.

    Attributes:
        folder: Where `order.json`, the events and the result are.
        dataset: Name of the data set that it reads.
        record: Its record, of a folder.
        create: Makes the folder anew, and returns its record.
        existing: Returns the record whose result is wanted, if there is one; the order is done then.
        recreate: Makes the folder anew after the machine was lost that had the job, given how it was lost; None for
            what only this machine does.
        content: Contents of `order.json`.
        run: ID of the run that it is about; empty for none.
        name: ID of the projection, "STUDY/TRIAL" of the trial, or name of the folder for features.
        stop_timeout_s: Seconds from the request to stop to the end by force.
        timeout_factor: By how much that takes longer than usual.
        limit_s: Seconds that it may take; None for any number.
        lane: Work with which it shares slots and limits.
        beside: Orders that the same worker does by turns with it: see `race`.
    """

    folder: Path
    dataset: str
    record: Callable[[Path], R]
    create: Callable[[], R]
    content: OrderContent
    existing: Callable[[], R | None] = lambda: None
    recreate: Callable[[str], R] | None = None
    run: str = ""
    name: str = ""
    stop_timeout_s: float = 1.5
    timeout_factor: int = 1
    limit_s: float | None = None
    lane: Lane = JOBS
    beside: "tuple[Order[Any], ...]" = ()

    @property
    def id(self) -> str:
        """The ID of the work: of `dmlviz/work/ID`, and of its claim."""
        return work_id(self.folder)

    @property
    def is_answer(self) -> bool:
        """Whether a page waits for it, which no other server shares."""
        return self.kind == "answer"

    @property
    def kind(self) -> str:
        """The kind of the work, as `dmlviz.parts.kinds` has it."""
        return self.content["kind"]

    def begin(self, lost: str = "") -> R:
        """Make the folder, with `order.json`; after a machine was lost `lost` says how."""
        record = self.recreate(lost) if lost and self.recreate is not None else self.create()
        write_json(record.path / ORDER_FILE, self.content)
        return record

    @property
    def settles(self) -> bool:
        """Whether it is a map whose training is over, so that its last layout becomes the whole map."""
        return self.lane is FOLLOWS and not trains(Run(self.folder.parent.parent))


def trains(run: Run) -> bool:
    """Return whether a run trains, or is about to, in any process."""
    return run.state == "running" or is_claimed(run.path.parent, run.path)


def training(runs: Runs, config: TrainConfig, room: int | None = None) -> Order[Run]:
    """Return the order of a training; an equal one under way or finished is shared.

    Args:
        runs: The runs.
        config: The settings.
        room: Bytes that the run may take, before it is stopped; None for any number.
    """
    content = TrainOrder(kind="train", config=config.model_dump(mode="json"))
    if room is not None:
        content["room"] = room

    def existing() -> Run | None:
        with contextlib.suppress(RunNotFoundError):
            run = runs.get(config.id)
            return run if run.state in SHARED else None
        return None

    return Order(
        folder=runs.folder / config.id,
        dataset=config.dataset,
        record=Run,
        create=lambda: runs.create(config),
        existing=existing,
        recreate=lambda lost: runs.begin_again(config.id, lost),
        content=content,
        run=config.id,
        stop_timeout_s=TRAINING_STOP_TIMEOUT_S,
        timeout_factor=LARGE_NET_FACTOR if config.unfrozen_blocks else 1,
    )


def race(first: Order[Run], *others: Order[Run]) -> Order[Run]:
    """Return the order of trainings that go on by turns, from snapshot to snapshot, in one worker of this machine.

    It takes one slot, and is stopped as a whole; each run is its own, and one that fails leaves the others going.
    """
    content = cast(TrainOrder, first.content | {"beside": [order.run for order in others]})
    timeout_factor = first.timeout_factor * (1 + len(others))
    return replace(first, beside=others, content=content, recreate=None, timeout_factor=timeout_factor)


def projection(
    runs: Runs, run: str, config: ProjectionConfig, *, resume: bool = False, holder: str = "", begin: str = ""
) -> Order[ProjectionRun]:
    """Return the order of a projection of a run, shared as a training.

    Args:
        runs: The runs.
        run: ID of the run.
        config: The projection.
        resume: Continue a projection that was stopped or interrupted; otherwise it starts anew.
        holder: ID of the person whose room it takes.
        begin: ID of a projection by the same method from whose last layout one that follows goes on.

    Raises:
        UserError: Before the run has embeddings, or for parameters that its points do not allow.
    """
    source = runs.get(run)
    if not config.follow and source.embeddings is None and (config.whole or source.state == "running"):
        raise source.lacks("embeddings of all test images, which a projection needs")
    steps = source.embedded_steps
    if steps or not config.follow:
        embeddings, _ = projected_embeddings(source, config, steps[0] if config.follow else config.step)
        check(config, *embeddings.shape)

    def existing() -> ProjectionRun | None:
        with contextlib.suppress(RunNotFoundError):
            record = source.projection(config.id)
            return record if record.state in SHARED else None
        return None

    def create() -> ProjectionRun:
        with contextlib.suppress(RunNotFoundError):
            record = source.projection(config.id)
            if resume and (record.layouts or record.resume_state is not None):
                return _resume(record, source)
        return runs.create_projection(source, config)

    return Order(
        folder=runs.folder / run / "projections" / config.id,
        dataset=source.config.dataset,
        record=ProjectionRun,
        create=create,
        content=ProjectOrder(kind="project", holder=holder, begin=begin),
        existing=existing,
        run=run,
        name=config.id,
        lane=FOLLOWS if config.follow else MAPS,
    )


def _resume(record: ProjectionRun, run: Run) -> ProjectionRun:
    begun = started(record.config, run)
    if (state := record.resume_state) is not None:
        begun["iteration"] = state[0]
    (record.path / "projection.json").touch()  # readers follow its events from the start again
    record.log.append({**begun, "time": time.time()})
    return record


def trial(folder: Path, lab: str, trial: Mapping[str, Any], name: str, room: int | None = None) -> Order[TrialRecord]:
    """Return the order of a trial of a study.

    Args:
        folder: The folder of the trial.
        lab: Name of the lab.
        trial: Fields of a `dmlviz.studies.trial.Trial`.
        name: "STUDY/TRIAL".
        room: Bytes that its folder may take, before it is stopped; None for any number.
    """
    content = TrialOrder(kind="trial", lab=lab, trial=dict(trial))
    if room is not None:
        content["room"] = room
    return Order(
        folder=folder,
        dataset=str(trial.get("dataset")),
        record=TrialRecord,
        create=lambda: TrialRecord.create(folder),
        recreate=lambda lost: TrialRecord.create(folder),
        content=content,
        name=name,
    )


def features(folder: Path, content: FeaturesOrder) -> Order[FeaturesRecord]:
    """Return the order of the features of a data set; what an earlier attempt has left in its folder is not done again.

    Args:
        folder: The folder in which they are computed.
        content: Contents of `order.json`.
    """
    return Order(
        folder=folder,
        dataset=content["dataset"],
        record=FeaturesRecord,
        create=lambda: FeaturesRecord.create(folder),
        content=content,
        name=folder.name,
        stop_timeout_s=3.0,
    )


def answer(folder: Path, content: AnswerOrder, limit_s: float, lane: Lane = ANSWERS) -> Order[AnswerRecord]:
    """Return the order of an answer that a page waits for.

    Args:
        folder: Where its result will be; equal answers have the same.
        content: Contents of `order.json`.
        limit_s: Seconds that it may take.
        lane: Work with which it shares slots and limits.
    """

    def existing() -> AnswerRecord | None:
        record = AnswerRecord(folder)
        return record if record.state == "finished" else None

    return Order(
        folder=folder,
        dataset="",
        record=AnswerRecord,
        create=lambda: AnswerRecord.create(folder),
        existing=existing,
        content=content,
        run=content.get("about", ""),
        name=content["ask"],
        stop_timeout_s=0.2,
        limit_s=limit_s,
        lane=lane,
    )
