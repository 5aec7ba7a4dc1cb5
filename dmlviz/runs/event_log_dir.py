"""A folder with an event log and frames: what runs and projections have in common."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, cast

import numpy as np
from pydantic import TypeAdapter
from typing_extensions import TypeVar

from dmlviz.errors import MISSING, DamagedFileError, UserError
from dmlviz.runs.frames import Box, dequantize
from dmlviz.storage.arrays import reading
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import Event, EventLog, LogFollower, is_run_id
from dmlviz.storage.regular_file import open_regular
from dmlviz.storage.run_schema.events import FrameMeta
from dmlviz.storage.run_schema.validation import OBJECT, Scores

State = Literal["running", "finished", "stopped", "failed", "interrupted", "damaged"]
FINAL_STATES = ("finished", "stopped", "failed")

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
End = TypeVar("End", bound=Mapping[str, Any], default=Any)


class RunNotFoundError(UserError):
    """A run, or a part of one, that does not exist."""


class UnreadableRunError(DamagedFileError, RunNotFoundError):
    """A run or projection whose settings cannot be read."""


class MissingPluginError(UnreadableRunError):
    """A run that names something that no plug-in brings now; nothing of it is damaged.

    Args:
        path: Its run.json.
        reason: Which name is unknown, in a sentence.
        title: The run's title.
    """

    def __init__(self, path: Path, reason: str, title: str) -> None:
        super().__init__(path, reason)
        self.title = title
        self.description = f"it needs a plug-in, with --plugin FILE: {reason}"
        self.args = (f"{title} cannot be read: {self.description}.",)


class EventLogDir(Generic[Event, End]):
    """A folder with an event log, frames, and a lock held by the writer; one process writes, any process reads.

    Examples:
        >>> from dmlviz.runs import Runs
        >>> run = Runs().find("Digits in the plane, triplets")
        >>> frame = run.events()[1]["frame"]
        >>> run.check_frame(frame)
        >>> run.positions(frame).shape, len(run.frame(frame["id"]))
        ((596, 2), 2384)
        >>> len(run.follow().read_new()) == len(run.events())
        True
    """

    kinds: ClassVar[TypeAdapter[Any]] = OBJECT

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.log: EventLog[Event] = EventLog(self.path / "events.jsonl", self.kinds)
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
        return cast(State, end["event"]) if end else "interrupted"

    @property
    def end(self) -> End | None:
        """The final event: finished, stopped (with scores) or failed (with a reason); None before that."""
        last = self.log.last()
        return cast(End, last) if last and last["event"] in FINAL_STATES else None

    @property
    def faithfulness(self) -> Scores:
        """Quality of the map at the end, by measure; empty where it was not measured."""
        end = self.end
        return (end and end.get("faithfulness")) or {}

    def events(self, after: int = 0) -> list[Event]:
        """Return the events.

        Args:
            after: Number of the first one, from 0.
        """
        return self.log.events(after)

    def follow(self, after: int = 0) -> LogFollower:
        """Return a follower that yields new events as numbered lines of JSON.

        Args:
            after: Number of the first one, from 0.
        """
        return LogFollower(self.log.path, after)

    def frame(self, frame: str) -> bytes:
        """Return the int16 positions of a frame.

        Args:
            frame: Its hash.

        Raises:
            RunNotFoundError: If there is none.
            DamagedFileError: If its file is not what was written.
        """
        path = self.path / "frames" / f"{frame}.i16"
        if not is_run_id(frame) or not os.path.lexists(path):
            raise RunNotFoundError(f"Run {self.id} has no frame {str(frame)[:40]!r}.")
        with reading(path), open_regular(path) as file:
            content = file.read()
        if hashlib.sha256(content).hexdigest()[:16] != frame:
            raise DamagedFileError(path, "it was changed, or is cut off")
        return content

    def positions(self, frame: FrameMeta) -> np.ndarray:
        """Return the positions of a frame (n × dims, float32).

        Args:
            frame: The frame, as an event describes it.
        """
        self.check_frame(frame)
        return dequantize(self.frame(frame["id"]), frame["dims"], Box(tuple(frame["center"]), frame["scale"]))

    def check_frame(self, frame: FrameMeta) -> None:
        """Check that the file of a frame is there, and as long as its event says.

        Args:
            frame: The frame, as an event describes it.

        Raises:
            DamagedFileError: If it is not.
        """
        path, length = self.path / "frames" / f"{frame['id']}.i16", 2 * frame["n"] * frame["dims"]
        try:
            with reading(path), open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            raise DamagedFileError(path, MISSING) from None
        if size != length:
            raise DamagedFileError(path, f"it should have {length:,} bytes; it has {size:,}")

    def _steps(self, folder: str, suffix: str) -> list[int]:
        """Return the steps in the file names of a folder, ascending."""
        stems = [path.stem for path in (self.path / folder).glob(f"*{suffix}")]
        return sorted(int(stem) for stem in stems if _NUMBER.fullmatch(stem))
