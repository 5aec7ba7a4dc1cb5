"""The training's side of a recording: checks what it is handed, copies it, and leaves the rest to another process."""

import atexit
import math
import os
import secrets
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.recording.inputs import (
    NotFiniteError,
    check_number,
    check_step,
    count_of,
    read_embeddings,
    read_labels,
    recorded_dataset,
    save_images,
)
from dmlviz.recording.messages import Message, SnapshotMessage, StepMessage
from dmlviz.recording.pictures import to_pictures
from dmlviz.recording.run_writer import RunPlan
from dmlviz.recording.writer_handle import WriterHandle
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.storage.text import one_line

NOT_CLOSED = "The program ended without closing the recording."


def process_rank() -> int:
    """Return the rank of this process in a distributed training, from torch.distributed or torchrun; 0 elsewhere."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)  # who has not loaded torch trains without it
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return int(rank) if rank.isdecimal() and size.isdecimal() and int(size) > 1 else 0


def end_reason(error: BaseException | None) -> str:
    """Return why a training ends early, in one sentence: the error that ended it; empty where there is none."""
    if error is None:
        return ""
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted."
    text = one_line(str(error), 300)
    return f"The training ended with {type(error).__name__}{': ' if text else ''}{text}"


def exit_reason() -> str:
    """Return why the program ends while its recording is open: an uncaught error, or a missing call of `finish`."""
    is_interactive = hasattr(sys, "ps1")  # where the last error may be of any line before
    error = None if is_interactive else getattr(sys, "last_value", None)
    return end_reason(error) or NOT_CLOSED


class RecordingWarning(UserWarning):
    """Something could not be recorded; the training goes on."""


class Recording:
    """A training of another program that dmlviz follows: the program hands over its embeddings from time to time.

    The run appears in the app with its first snapshot, and grows while the training goes on. It has everything that a
    run of dmlviz has, except what needs a net: neighbors, quality, scores, alarms, curves, projections, Compare,
    export. A training that crashes leaves the run up to its last snapshot, with the reason; a disk that is full gives
    one warning. In a distributed training the process of rank 0 records, and calls of the others do nothing.

    Args:
        title: Title of the run.
        labels: Class of each image (n): whole numbers or texts. None for images without labels: a map without classes,
            with neighbors and quality, and without scores.
        images: The images (n), to be seen on the map: uint8 or floats, N × H × W, N × C × H × W or N × H × W × C,
            PyTorch or NumPy, or a list of Pillow's images. None for points only, which need labels.
        classes: Class names, by label; by default the labels themselves.
        steps: Steps of the whole training, for the progress bar; None if unknown.
        side: Largest side in pixels, 8 to 224, at which images are kept, as squares; by default 64.
        dataset: Title of the images. Runs of the same images and labels can be compared.
        projection: A map that follows the training, with a layout of each snapshot: "pca", "tsne", "umap", "pacmap",
            "localmap" or a `ProjectionConfig`. A process of its own draws it, and settles it at the end; `run` waits
            for that.
        runs: The runs folder; by default that of the app.
        data: The data folder, for the images; by default that of the app.

    Attributes:
        recording_id: A unique ID, 16 hexadecimal digits.
        rank: The rank of this process in a distributed training; only that of rank 0 records.

    Raises:
        UserError: For labels or images of a wrong shape or type.

    Examples:
        >>> import numpy as np, tempfile
        >>> rng, labels = np.random.default_rng(0), np.arange(40) % 4
        >>> folder = tempfile.mkdtemp()
        >>> with record("random walk", labels=labels, runs=folder) as recording:
        ...     points = rng.normal(size=(40, 2))
        ...     for step in range(3):
        ...         recording.step(step, loss=1 / (step + 1))
        ...         recording.snapshot(step, points)
        ...         points = points + 0.1 * rng.normal(size=points.shape)
        >>> recording.run.snapshot_steps
        [0, 1, 2]
    """

    def __init__(
        self,
        title: str,
        *,
        labels: Any = None,
        images: Any = None,
        classes: Sequence[Any] | None = None,
        steps: int | None = None,
        side: int | None = None,
        dataset: str = "Recorded data",
        projection: str | ProjectionConfig | None = None,
        runs: str | Path | None = None,
        data: str | Path | None = None,
    ) -> None:
        if not isinstance(title, str) or not one_line(title):
            raise UserError(f"A recording needs a title; got {title!r}: name the run.")
        self.recording_id = secrets.token_hex(8)
        self.rank = process_rank()
        if labels is None and images is None:
            raise UserError("A recording needs labels or images, to know what is embedded; got neither: pass either.")
        self._labels, names = read_labels(labels, classes, count_of(images))
        pictures = None if images is None else to_pictures(images, len(self._labels), side)
        spec = recorded_dataset(one_line(dataset) or "Recorded data", pictures, self._labels, names)
        drawn = None if projection is None else ProjectionConfig.following(projection)
        total = None if steps is None else check_step(steps, None)
        self._runs = Runs(runs_folder(runs).absolute())
        self._dimensions: int | None = None
        self._snapshot_step: int | None = None
        self._loss_step: int | None = None
        self._warnings: set[str] = set()
        self._is_closed = False
        self._process_id = os.getpid()
        self._cpu_start = time.process_time()
        self._writer: WriterHandle | None = None
        if self.rank:
            return
        if pictures is not None:
            try:
                save_images(spec, pictures, self._labels, data_root(data))
            except UserError as error:
                self._warn(f"The images of {title} are not kept: {error}", "disk")
        plan = RunPlan(self._runs.folder, title, self.recording_id, spec.to_dict(), total, drawn)
        self._writer = WriterHandle(plan, self._labels)
        atexit.register(self._at_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.close(end_reason(error))

    def snapshot(self, step: int, embeddings: Any, loss: Any = None) -> None:
        """Record where the images are after so many steps; returns as soon as they are copied.

        Args:
            step: The number of batches, or epochs, so far; rises from call to call.
            embeddings: n × d, PyTorch or NumPy, in the order of the labels; d is the same every time.
            loss: The loss at this step, for the curve.

        Embeddings that are not finite are left out with a warning and an alarm, since a training may recover from them.

        Raises:
            UserError: For embeddings of another shape, or a step that does not rise.
        """
        if self.rank:
            return
        number = check_step(step, self._snapshot_step)
        value = check_number("loss", loss)
        if value is not None and (self._loss_step is None or number > self._loss_step):
            self.step(number, value)
        try:
            copy = read_embeddings(embeddings, number, len(self._labels), self._dimensions)
        except NotFiniteError as error:
            self._warn(f"A snapshot is left out of the recording, and the training goes on. {error}", "finite")
            self._loss_step = max(number, self._loss_step or 0)
            self._send_step(number, math.inf)  # which raises an alarm
            return
        self._dimensions, self._snapshot_step = copy.shape[1], number
        self._send(SnapshotMessage(event="snapshot", step=number, cpu_seconds=self._cpu_seconds()), copy)

    def step(self, step: int, loss: Any, active: Any = None) -> None:
        """Record the loss of a batch, as often as you like; long curves are averaged.

        Args:
            step: The number of batches so far; rises from call to call.
            loss: The loss.
            active: The fraction of loss terms that are active, if known; 0 for a while raises an alarm.

        Raises:
            UserError: For a step that does not rise, or a loss that is not one number.
        """
        if self.rank:
            return
        self._loss_step = check_step(step, self._loss_step)
        value = check_number("loss", loss)
        if value is not None and not math.isfinite(value):
            self._warn(f"The loss is {value} at step {self._loss_step:,}: the training has diverged.", "loss")
        self._send_step(self._loss_step, value, check_number("active", active))

    def _send_step(self, step: int, loss: float | None, active: float | None = None) -> None:
        self._send(
            StepMessage(event="step", step=step, loss=loss, active=active, cpu_seconds=self._cpu_seconds()),
        )

    def close(self, reason: str = "") -> None:
        """Write the end of the run, and return when all embeddings are on disk.

        The scores of the end follow: `run` waits for them, and so does the program before it ends.

        Args:
            reason: Reason for an early end; empty when it is finished.
        """
        if self._is_closed or self._writer is None or os.getpid() != self._process_id:  # a forked child does not train
            return
        self._is_closed = True
        self._writer.close({"event": "end", "reason": reason, "cpu_seconds": self._cpu_seconds()})
        self._report()

    @property
    def closed(self) -> bool:
        """Return whether the recording has ended."""
        return self._is_closed

    @property
    def run(self) -> Run:
        """The run so far, or whole after `close`; raises RunNotFoundError before the first snapshot is on disk."""
        if self.rank:
            raise RunNotFoundError(f"The process of rank 0 records, and has the run; this one is of rank {self.rank}.")
        if self._is_closed:
            self._finish()
        for run in self._runs.list():
            if run.info.get("recording") == self.recording_id:
                return run
        raise RunNotFoundError("The run of this recording is not on disk yet; it begins with the first snapshot.")

    def _finish(self) -> None:
        """Wait for the process that writes."""
        if self._writer is not None and os.getpid() == self._process_id:
            self._writer.wait()
            atexit.unregister(self._at_exit)
            self._report()

    def _at_exit(self) -> None:
        self.close(exit_reason())
        self._finish()

    def _send(self, message: Message, array: np.ndarray | None = None) -> None:
        if self._is_closed or self._writer is None:
            raise UserError("This recording is closed; begin another one with dmlviz.record.")
        self._writer.send(message, array)
        self._report()

    def _cpu_seconds(self) -> float:
        return time.process_time() - self._cpu_start

    def _report(self) -> None:
        if self._writer is not None and self._writer.trouble:
            self._warn(f"The recording is not complete, and the training goes on: {self._writer.trouble}", "disk", 4)

    def _warn(self, text: str, about: str, stacklevel: int = 3) -> None:
        """Warn once in a recording of each kind of trouble."""
        if about not in self._warnings:
            self._warnings.add(about)
            warnings.warn(text, RecordingWarning, stacklevel=stacklevel)


record = Recording
