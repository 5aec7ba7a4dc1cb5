"""Computes the features of a data set in a worker process, and writes its progress into the folder of the order."""

import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.jobs.features_record import FeaturesRecord
from dmlviz.runs.record_writer import RecordWriter

REPORT_INTERVAL_S = 0.2  # seconds between two words on the progress
MAX_UNPACKED_BYTES = 4_000_000_000  # of a file of torch.save, which is a zip; weights are not compressed


class _StoppedError(Exception):
    """The computation was asked to stop; what is done is on disk."""


def compute_features(folder: Path, *, data_root: Path | None = None, stop: Callable[[], bool] = lambda: False) -> None:
    """Compute the features that a folder asks for; whatever goes wrong ends it as "failed", with the reason.

    Args:
        folder: The folder, as `FeaturesRecord.create` makes it. What an earlier attempt computed is not done again.
        data_root: Where the data sets are.
        stop: True when it should end early.

    Raises:
        UserError: If the folder holds no order, or another process is at it.
    """
    record = FeaturesRecord(folder)
    order = record.order
    with RecordWriter(record) as writer:
        writer.event("started")
        try:
            from dmlviz.nets.features import add_features

            weights = None if order["weights"] is None else Path(order["weights"])
            if weights is not None:
                _check_size(weights)
            name = add_features(
                order["dataset"],
                order["backbone"],
                weights=weights,
                title=order["title"],
                data=data_root,
                unfinished=folder,
                progress=_Progress(writer, stop),
            )
            writer.event("finished", dataset=name)
        except _StoppedError:
            writer.event("stopped", reason="stopped by hand")
        except Exception as error:
            writer.failed(error)


def _check_size(weights: Path) -> None:
    """Refuse a zip that unpacks to more than any weights have; what else is wrong, its reader says."""
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
    """Writes how many images are done, a few times a second at most, and ends the work when that is asked for."""

    def __init__(self, writer: RecordWriter, stop: Callable[[], bool]) -> None:
        self._writer = writer
        self._stop = stop
        self._begun: tuple[float, int] | None = None  # when the first image was computed, and how many were done before
        self._written = 0.0

    def __call__(self, done: int, of: int) -> None:
        stopped, now = self._stop(), time.monotonic()
        begun, before = self._begun = self._begun or (now, done)
        if stopped or done == of or now - self._written >= REPORT_INTERVAL_S:
            self._written = now
            left = None if done == before else (of - done) * (now - begun) / (done - before)
            self._writer.event("progress", done=done, of=of, left=left)
        if stopped:
            raise _StoppedError
