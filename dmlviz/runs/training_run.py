"""Trains a run and writes its events into its folder."""

import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split, load
from dmlviz.runs.quota import folder_size, format_bytes
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.size_estimate import SizeEstimate, estimate_size
from dmlviz.runs.store import Runs
from dmlviz.storage.run_schema.events import EndedEvent, PreparingEvent, TrainingEvent
from dmlviz.training.batch_record import MAX_TOTAL_BYTES
from dmlviz.training.events import Event, Failed, Snapshot, Started, Step, Stopped


def train_and_record(
    run: Run,
    *,
    data_root: Path | None = None,
    data: Any = None,
    stop: Callable[[], bool] | None = None,
    clock: Callable[[], float] = time.time,
    save_checkpoints: bool = True,
    room: int | None = None,
) -> Iterator[Event]:
    """Train a run's config, write the events into its folder, and yield them.

    Errors end as a Failed event, on disk too. Closing the iterator early, or a KeyboardInterrupt, leaves a stopped run
    without final embeddings.

    Args:
        run: A run without events.
        data_root: The data folder.
        data: The run's data set, if already loaded.
        stop: Called between batches and during downloads; True stops.
        clock: The time in seconds, for the log.
        save_checkpoints: Whether to save the nets of some snapshots, up to 4 MB.
        room: Bytes that the run may take; the training stops in order before it takes more.

    Yields:
        The events of `dmlviz.training.loop.train`.

    Raises:
        UserError: If another process is writing the run.
    """
    with RecordWriter(run, clock) as writer:
        step = 0
        try:
            from dmlviz.training.loop import train

            data = data or load(
                run.config.dataset, data_root, progress=_DownloadProgress(writer, run.config.dataset, stop)
            )
            recorder = RunRecorder(writer, run, data.test.labels, save_checkpoints, stop=stop)
            guard = _RoomGuard(run, estimate_size(run.config, len(data.test)), room, stop)
            for event in train(run.config, data=data, stop=guard.stop, root=data_root):
                step = getattr(event, "step", step)
                event = guard.explain(event)
                recorder.write(event)
                guard.look(event)
                yield event
        except CancelledError:
            writer.event(_stop_event(0, "stopped before the data set was downloaded"))
        except Exception as error:
            yield Failed(step=step, reason=writer.failed(error), diverged=False)
        except (KeyboardInterrupt, GeneratorExit):
            writer.event(_stop_event(step, "interrupted"))
            raise


def warm_up() -> None:
    """Record a training of two steps, so that the next starts fast: imports, optimizer, kernels of the usual batch."""
    rng = np.random.default_rng(0)
    config = TrainConfig(dataset="mnist", steps=2, num_snapshots=2, eval_subset_size=200)
    images = rng.integers(0, 256, (2 * config.effective_batch_size, 28, 28)).astype(np.uint8)
    split = Split(images, np.arange(len(images)) % 10)
    data = Dataset("mnist", tuple("0123456789"), split, split, 0.13, 0.31)
    with tempfile.TemporaryDirectory() as folder:
        deque(train_and_record(Runs(Path(folder)).create(config), data=data), maxlen=0)


TURN = 10  # steps


def by_turns(trainings: Iterable[Iterator[Event]]) -> Iterator[Event]:
    """Yield the events of some trainings, each in turn for so many steps or up to a snapshot, so that all keep pace."""
    waiting = deque(trainings)
    while waiting:
        training = waiting.popleft()
        for event in training:
            yield event
            if isinstance(event, Snapshot) or (isinstance(event, Step) and event.step % TURN == 0):
                waiting.append(training)
                break


def _stop_event(step: int, reason: str) -> EndedEvent:
    return EndedEvent(event="stopped", step=step, metrics={}, reason=reason)


class _RoomGuard:
    """Stops a training before its run takes more room than it may."""

    def __init__(self, run: Run, size: SizeEstimate, room: int | None, stop: Callable[[], bool] | None) -> None:
        self.run, self.size, self.room = run, size, room
        self._stop = stop or (lambda: False)
        self._snapshots = self._end = 0  # `_end`: bytes that come with the end, and as batches until then
        self.is_full = False

    def stop(self) -> bool:
        """Return whether the training should stop."""
        return self.is_full or self._stop()

    def look(self, event: Event) -> None:
        """After a snapshot, look whether another one, and the end, still fit."""
        if isinstance(event, Started):
            self._end = self.size.end + event.weight_bytes + MAX_TOTAL_BYTES
        elif isinstance(event, Snapshot) and self.room is not None:
            self._snapshots += 1
            further = self.size.snapshot + self._end + (self._snapshots + 1) * self.size.frame
            self.is_full = folder_size(self.run.path) + further > self.room

    def explain(self, event: Event) -> Event:
        """Give the end of a training that this has stopped its reason."""
        if not (isinstance(event, Stopped) and self.is_full and not self._stop()):
            return event
        assert self.room is not None
        reason = f"stopped after {self._snapshots} snapshots: the run may take {format_bytes(self.room)}; lower "
        return replace(event, reason=f"{reason}Snapshots (num_snapshots), or delete other runs")


class CancelledError(Exception):
    """Raised from a download when the user has pressed Stop."""


class _DownloadProgress:
    """Logs the progress of a download, four times a second, and cancels it on request."""

    def __init__(self, writer: RecordWriter[TrainingEvent], dataset: str, stop: Callable[[], bool] | None) -> None:
        self.writer = writer
        self.dataset = dataset
        self.stop = stop
        self.logged_at = 0.0

    def __call__(self, done: int, total: int) -> None:
        if self.stop is not None and self.stop():
            raise CancelledError
        now = self.writer.clock()
        if now - self.logged_at >= 0.25 or done == total:
            self.logged_at = now
            self.writer.event(PreparingEvent(event="preparing", dataset=self.dataset, done=done, total=total))
