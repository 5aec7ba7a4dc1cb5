"""Trains a run and writes its events into its folder."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.storage.run_schema.events import EndedEvent, PreparingEvent, TrainingEvent
from dmlviz.training.events import Event, Failed


def train_and_record(
    run: Run,
    *,
    data_root: Path | None = None,
    data: Any = None,
    stop: Callable[[], bool] | None = None,
    clock: Callable[[], float] = time.time,
    save_checkpoints: bool = True,
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

    Yields:
        The events of `dmlviz.training.loop.train`.

    Raises:
        UserError: If another process is writing the run.
    """
    with RecordWriter(run, clock) as writer:
        step = 0
        try:
            from dmlviz.data import load
            from dmlviz.training.loop import train

            data = data or load(
                run.config.dataset, data_root, progress=_DownloadProgress(writer, run.config.dataset, stop)
            )
            recorder = RunRecorder(writer, run, data.test.labels, save_checkpoints, stop=stop)
            for event in train(run.config, data=data, stop=stop, root=data_root):
                step = getattr(event, "step", step)
                recorder.write(event)
                yield event
        except CancelledError:
            writer.event(_stop_event(0, "stopped before the data set was downloaded"))
        except Exception as error:
            yield Failed(step=step, reason=writer.failed(error), diverged=False)
        except (KeyboardInterrupt, GeneratorExit):
            writer.event(_stop_event(step, "interrupted"))
            raise


def _stop_event(step: int, reason: str) -> EndedEvent:
    return EndedEvent(event="stopped", step=step, metrics={}, reason=reason)


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
