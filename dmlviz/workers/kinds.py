"""The kinds of jobs, and what a worker process does for each. What it needs is imported when it begins."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from dmlviz.jobs.job_record import JobRecord
from dmlviz.jobs.order import JobKind
from dmlviz.runs.run import Run


@dataclass(frozen=True)
class Work:
    """A job as its worker has it.

    Attributes:
        folder: Folder of the job.
        data_root: Folder of the data sets.
        stop: True when the job should end early.
        datasets: Data sets that are loaded already, by name.
    """

    folder: Path
    data_root: Path | None
    stop: Callable[[], bool]
    datasets: Mapping[str, Any] = field(default_factory=dict)


LAYOUT_THREADS = 4  # more gain little
Worker: TypeAlias = Callable[[Work], Iterator[object] | None]
"""Does a job. What it returns, if anything, is iterated over at the usual priority: a person waits for the rest."""


def train(work: Work) -> Iterator[object]:
    """Train a run; once it was stopped, return what is left: to embed and score the test images."""
    from dmlviz.runs.training_run import train_and_record
    from dmlviz.training.events import Stopping

    run = Run(work.folder)
    data = work.datasets.get(run.config.dataset)
    room = JobRecord(work.folder).order.get("room")
    events = train_and_record(run, data_root=work.data_root, data=data, stop=work.stop, room=room)
    for event in events:
        if isinstance(event, Stopping) and work.stop():
            break
    return events


def project(work: Work) -> None:
    """Compute a projection of a run."""
    from dmlviz.ops.squared_distances import available_cores, use_threads
    from dmlviz.runs.projection_run import run_projection

    with use_threads(min(available_cores(), LAYOUT_THREADS)):
        run_projection(work.folder, stop=work.stop)


def try_out(work: Work) -> None:
    """Do a trial of a study."""
    from dmlviz.labs.trial_worker import run_trial

    run_trial(work.folder, data_root=work.data_root, stop=work.stop)


def compute_features(work: Work) -> None:
    """Compute the features of a data set."""
    from dmlviz.workers import features

    features.compute_features(work.folder, data_root=work.data_root, stop=work.stop)


def clean(work: Work) -> None:
    """Look through the training data of a run."""
    from dmlviz.cleaning.job import clean_run

    clean_run(work.folder, data_root=work.data_root, stop=work.stop)


def answer(work: Work) -> None:
    """Prepare an answer that a page waits for."""
    from dmlviz.workers.answers import prepare_answer

    prepare_answer(work.folder, work.data_root)


KINDS: dict[JobKind, Worker] = {
    "train": train,
    "project": project,
    "trial": try_out,
    "features": compute_features,
    "clean": clean,
    "answer": answer,
}
