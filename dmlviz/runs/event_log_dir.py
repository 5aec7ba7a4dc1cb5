"""A folder with an event log and frames: what runs and projections have in common."""

import hashlib
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter

from dmlviz.errors import MISSING, DamagedFileError, UserError
from dmlviz.runs.frames import Box, dequantize
from dmlviz.storage.arrays import reading
from dmlviz.storage.files import EventLog, FileLock, LogFollower, is_run_id
from dmlviz.storage.run_schema.run_events import RUN_EVENT

State = Literal["running", "finished", "stopped", "failed", "interrupted", "damaged"]
FINAL_STATES = ("finished", "stopped", "failed")

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")


class RunNotFoundError(UserError):
    """A run, or a part of one, that does not exist."""


class UnreadableRunError(DamagedFileError, RunNotFoundError):
    """A run or projection whose settings cannot be read."""


class EventLogDir:
    """A folder with an event log, frames, and a lock held by the writer; one process writes, any process reads."""

    kinds: TypeAdapter[Any] = RUN_EVENT

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.log = EventLog(self.path / "events.jsonl", self.kinds)
        self.lock = FileLock(self.path / "lock")

    @property
    def id(self) -> str:
        """Hash of the config, 16 hexadecimal digits."""
        return self.path.name

    @property
    def state(self) -> State:
        """State on disk; a log without a final event is "running" while its lock is held, else "interrupted"."""
        try:
            end = self.end
            if end is None and self.lock.locked:
                return "running"
            end = end or self.end  # the writer may have finished in between
        except DamagedFileError:
            return "damaged"
        return end["event"] if end else "interrupted"

    @property
    def end(self) -> dict[str, Any] | None:
        """The final event: finished, stopped (with scores) or failed (with a reason); None before that."""
        last = self.log.last()
        return last if last and last["event"] in FINAL_STATES else None

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """Return the events from number `after` (from 0) on."""
        return self.log.events(after)

    def follow(self, after: int = 0) -> LogFollower:
        """Return a follower that yields new events as numbered lines of JSON."""
        return LogFollower(self.log.path, after)

    def frame(self, frame: str) -> bytes:
        """Return the int16 positions of a frame by its hash; raise RunNotFoundError if it does not exist."""
        path = self.path / "frames" / f"{frame}.i16"
        if not is_run_id(frame) or not path.is_file():
            raise RunNotFoundError(f"Run {self.id} has no frame {str(frame)[:40]!r}.")
        with reading(path):
            content = path.read_bytes()
        if hashlib.sha256(content).hexdigest()[:16] != frame:
            raise DamagedFileError(path, "it was changed, or is cut off")
        return content

    def positions(self, frame: dict[str, Any]) -> np.ndarray:
        """Return the positions of a frame (n × dims, float32), described as in an event."""
        self.check_frame(frame)
        return dequantize(self.frame(frame["id"]), frame["dims"], Box(tuple(frame["center"]), frame["scale"]))

    def check_frame(self, frame: dict[str, Any]) -> None:
        """Raise DamagedFileError if the file of a frame is missing, or of a size other than in its event."""
        path, expected = self.path / "frames" / f"{frame['id']}.i16", 2 * frame["n"] * frame["dims"]
        try:
            size = path.stat().st_size
        except OSError:
            raise DamagedFileError(path, MISSING) from None
        if size != expected:
            raise DamagedFileError(path, f"it should have {expected:,} bytes; it has {size:,}")

    def _steps(self, folder: str, suffix: str) -> list[int]:
        """Return the steps in the file names of a folder, ascending."""
        stems = [path.stem for path in (self.path / folder).glob(f"*{suffix}")]
        return sorted(int(stem) for stem in stems if _NUMBER.fullmatch(stem))
