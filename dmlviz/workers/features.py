"""Computes the features of a data set in a worker process, and writes its progress into the folder of the order."""

import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.jobs.job_events import FeaturesFinished, FeaturesProgress
from dmlviz.jobs.job_record import FeaturesRecord, JobWriter, StoppedError
from dmlviz.jobs.work import Work

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
