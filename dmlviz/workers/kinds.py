"""What a worker does for a training, a projection or features. What it needs is imported when it begins."""

import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.jobs.job_events import FeaturesFinished, FeaturesProgress
from dmlviz.jobs.job_record import FeaturesRecord, JobRecord, JobWriter, StoppedError, Work
from dmlviz.runs.run import Run

MAX_UNPACKED_BYTES = 4_000_000_000  # of a file of torch.save, which is a zip; weights are not compressed


def compute_features(work: Work) -> None:
    """Compute features, as `dmlviz.jobs.order.features` orders; an exception ends the job as "failed", with the reason.

    What an earlier attempt computed is not done again.

    Raises:
        UserError: If the folder holds no order, or another process is writing it.
    """
    record = FeaturesRecord(work.folder)
    order = record.order
    with record.writing() as writer:
        from dmlviz.nets.features import add_features

        weights = None if order["weights"] is None else Path(order["weights"])
        if weights is not None:
            _check_size(weights)
        name = add_features(
            order["dataset"],
            order["backbone"],
            weights=weights,
            title=order["title"],
            data=work.data_root,
            unfinished=work.folder,
            progress=_Progress(writer, work.stop),
        )
        writer.finished(FeaturesFinished(event="finished", dataset=name))


def _check_size(weights: Path) -> None:
    """Raise UserError for a zip that unpacks to more than any weights have."""
    try:
        with zipfile.ZipFile(weights) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (OSError, ValueError, zipfile.BadZipFile):
        return
    if size > MAX_UNPACKED_BYTES:
        raise UserError(
            f"Weights have up to {MAX_UNPACKED_BYTES / 1e9:g} GB; {weights.name} unpacks to {size / 1e9:,.0f} GB: "
            "choose the file of the backbone's weights."
        )


class _Progress:
    """Writes the number of finished images, and ends the work on request."""

    def __init__(self, writer: JobWriter[FeaturesProgress, FeaturesFinished], stop: Callable[[], bool]) -> None:
        self._writer = writer
        self._stop = stop
        self._start: tuple[float, int] | None = None  # when the first image was computed, and how many were done before

    def __call__(self, done: int, of: int) -> None:
        stopped, now = self._writer.is_full() or self._stop(), time.monotonic()
        start, before = self._start = self._start or (now, done)
        left = None if done == before else (of - done) * (now - start) / (done - before)
        self._writer.progress(
            FeaturesProgress(event="progress", done=done, of=of, left=left), now=stopped or done == of
        )
        if stopped:
            raise StoppedError


LAYOUT_THREADS = 4  # more gain little


def train(work: Work) -> Iterator[object]:
    """Train a run, or a race of some; once it was stopped, return what is left: to embed and score the test images."""
    from dmlviz.runs.training_run import by_turns, train_and_record
    from dmlviz.training.events import Stopping

    order = JobRecord(work.folder).order
    trainings = []
    for run in (Run(work.folder.parent / name) for name in (work.folder.name, *order.get("beside", ()))):
        data = work.datasets.get(run.config.dataset)
        room = JobRecord(run.path).order.get("room")
        trainings.append(train_and_record(run, data_root=work.data_root, data=data, stop=work.stop, room=room))
    events = by_turns(trainings)
    for event in events:
        if isinstance(event, Stopping) and work.stop():
            break
    return events


def project(work: Work) -> None:
    """Compute a projection of a run; one that follows its training takes no core from it, once there is a layout."""
    from dmlviz.jobs.order import trains
    from dmlviz.ops.squared_distances import available_cores, use_threads
    from dmlviz.process_setup import lower_priority
    from dmlviz.runs.projection_run import SETTLING, run_projection

    follows = trains(Run(work.folder.parent.parent))
    if not follows:  # two of them at a training's priority made it half as slow again, on two cores
        lower_priority(below=SETTLING)
    with use_threads(1 if follows else min(available_cores(), LAYOUT_THREADS)):
        begin = JobRecord(work.folder).order.get("begin", "")
        run_projection(work.folder, stop=work.stop, trains=trains, begin=begin)
