"""Writes the events and frames of a training or projection into its folder."""

import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Self

from dmlviz.errors import DiskFullError, UserError
from dmlviz.runs.frames import Frame
from dmlviz.runs.run import EventLogDir
from dmlviz.storage.disk_space import disk_full_of, is_disk_full
from dmlviz.storage.files import Event, atomic_write
from dmlviz.storage.run_schema.events import FailedEvent, FrameMeta


class RecordWriter(Generic[Event]):
    """Writes events and frames while it holds the lock of the folder, as a context manager.

    Raises:
        UserError: On entry, if another process holds the lock.
    """

    def __init__(self, record: EventLogDir[Event, Any], clock: Callable[[], float] = time.time) -> None:
        self.record = record
        self.clock = clock

    def __enter__(self) -> Self:
        if not self.record.lock.acquire():
            raise UserError(f"Another process is writing {self.record.id}; wait until it ends, or stop it.")
        return self

    def __exit__(self, *exception: object) -> None:
        self.record.lock.release()

    def event(self, event: Event | FailedEvent) -> None:
        """Append one event, with the time."""
        self.record.log.append({**event, "time": round(self.clock(), 3)})

    def frame(self, frame: Frame) -> FrameMeta:
        """Write a frame; return its description for an event."""
        description = frame.describe()
        path = self.record.path / "frames" / f"{description['id']}.i16"
        if not path.exists():
            with atomic_write(path) as file:
                file.write(frame.data)
        return description

    def failed(self, error: BaseException) -> str:
        """Log a "failed" event and return its reason; the traceback of an internal error goes to error.txt."""
        reason = error_message(error, self.record.path)
        with suppress(DiskFullError):  # then it is the reason, too, and there may be no room to say so
            if not isinstance(error, UserError):
                with atomic_write(self.record.path / "error.txt") as file:
                    file.write("".join(traceback.format_exception(error)).encode())
            self.event(FailedEvent(event="failed", reason=reason))
        return reason


def error_message(error: BaseException, *folders: Path) -> str:
    """Return the user-facing message of an exception: one or two sentences; `folders` may have been written to."""
    text = " ".join(str(error).split())
    if isinstance(error, UserError):
        return text
    if isinstance(error, MemoryError) or "can't allocate memory" in text or "out of memory" in text:
        return "Out of memory; use smaller batches, a smaller net or fewer test images."
    if isinstance(error, OSError) and is_disk_full(error):
        return str(disk_full_of(error, *folders))
    if isinstance(error, OSError) and error.strerror:
        return f"Cannot read or write {error.filename or 'the run folder'}: {error.strerror}."
    return f"Internal error ({type(error).__name__}: {text[:200]})."
