"""A job of a fleet's machine on the server's disk: its progress, then its packed result."""

import hashlib
import os
from io import BytesIO
from typing import Any, ClassVar, Generic, TypeVar

from dmlviz.errors import UserError
from dmlviz.fleet import MachineLostError
from dmlviz.fleet.machine import EVENTS_FILE, LAST_EVENTS, Message, is_trial_file, unpack_trial
from dmlviz.jobs.job_record import TrialRecord
from dmlviz.runs.archive import unpacked_run
from dmlviz.runs.event_log_dir import FINAL_STATES, EventLogDir
from dmlviz.runs.files import file_named
from dmlviz.runs.run import Run
from dmlviz.runs.run_info import update_info
from dmlviz.storage.files import atomic_write, ensure_dir

R = TypeVar("R", bound=EventLogDir)


class LiveRecord(Generic[R]):
    """Writes what a machine sends into the folder of a job.

    Until the packed result is there, the log has no final event: a result that was cut off has none either.
    """

    last_events: ClassVar[tuple[str, ...]] = FINAL_STATES  # these and what follows comes with the packed result

    def __init__(self, record: R) -> None:
        self.record = record
        self.lines = 0  # of the log, so far
        self._complete = False  # but for what comes with the packed result

    def update_info(self, **fields: Any) -> None:
        """Keep fields in the description of the record, where it has one."""

    def write(self, message: Message) -> bool:
        """Write the new lines of a message, and before them the files that they refer to.

        Returns:
            False, and nothing is written, if lines before it are missing.

        Raises:
            UserError: If the message holds what does not belong to the record.
        """
        overlap = self.lines - message["first"]
        if self._complete:
            return True
        if overlap < 0:
            return False
        lines: list[bytes] = []
        for line in message["lines"][overlap:]:
            if self.record.log.event(line.encode(), self.lines + len(lines))["event"] in self.last_events:
                self._complete = True
                break
            lines.append(line.encode())
        for name, content in message["files"].items():
            self._write_file(name, content)
        if message["info"]:
            self.update_info(**message["info"])
        self.record.log.append_lines(lines)
        self.lines += len(lines)
        return True

    def finish(self, archive: bytes) -> None:
        """Replace the progress by the packed result, its final event last.

        Raises:
            UserError: If it is no valid result of this order.
            MachineLostError: If it was cut off.
        """
        raise NotImplementedError

    def _write_file(self, name: str, content: bytes) -> None:
        path = self.record.path / name
        ensure_dir(path.parent)
        with atomic_write(path) as file:
            file.write(content)

    def _finish_log(self, lines: list[bytes]) -> None:
        """Add the missing lines; where those before are others, replace them all."""
        before = self.record.log.lines()
        if lines[: len(before)] == before:
            self.record.log.append_lines(lines[len(before) :])
            return
        whole = self.record.path / f"{EVENTS_FILE}.whole"
        whole.write_bytes(b"".join(line + b"\n" for line in lines))
        os.replace(whole, self.record.log.path)


class LiveRun(LiveRecord[Run]):
    """A run."""

    last_events = LAST_EVENTS

    def update_info(self, **fields: Any) -> None:
        """Write fields into run.json."""
        update_info(self.record, **fields)

    def finish(self, archive: bytes) -> None:
        """See `LiveRecord`."""
        run = self.record
        with unpacked_run(BytesIO(archive), run.path.parent) as whole:
            if whole.id != run.id:
                raise UserError(f"It is run {whole.id}, not {run.id}.")
            if whole.end is None:
                raise MachineLostError("The training was cut off.")
            for path in sorted(whole.path.rglob("*")):
                name = path.relative_to(whole.path)
                if path.is_file() and str(name) not in ("run.json", EVENTS_FILE):
                    os.replace(path, ensure_dir((run.path / name).parent) / name.name)
            names = ("device", "threads", "timings")
            self.update_info(**{name: value for name, value in whole.info.items() if name in names})
            self._finish_log(whole.log.lines())

    def _write_file(self, name: str, content: bytes) -> None:
        if file_named(name) is None:
            raise UserError(f"A run has no file {name[:60]!r}.")
        if name.endswith(".i16") and hashlib.sha256(content).hexdigest()[:16] != (self.record.path / name).stem:
            raise UserError(f"{name} is not what its name says.")
        super()._write_file(name, content)


class LiveTrial(LiveRecord[TrialRecord]):
    """A trial of a study, whose files come with the packed trial."""

    def finish(self, archive: bytes) -> None:
        """See `LiveRecord`."""
        files = unpack_trial(archive)
        lines = files.pop(EVENTS_FILE, b"").splitlines()
        events = [self.record.log.event(line, number) for number, line in enumerate(lines)]
        if not events or events[-1]["event"] not in FINAL_STATES:
            raise MachineLostError("The trial was cut off.")
        for name, content in files.items():
            self._write_file(name, content)
        self._finish_log(lines)

    def _write_file(self, name: str, content: bytes) -> None:
        if not is_trial_file(name):
            raise UserError(f"A trial has no file {name[:60]!r}.")
        super()._write_file(name, content)
