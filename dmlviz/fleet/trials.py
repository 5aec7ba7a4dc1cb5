"""Trials of studies that other machines do: packed there, checked and unpacked here."""

import os
import re
import zipfile
import zlib
from io import BytesIO
from typing import Any

from dmlviz.errors import UserError
from dmlviz.fleet.errors import MachineLostError
from dmlviz.jobs.trial_record import ORDER_FILE, TrialRecord
from dmlviz.runs.event_log_dir import FINAL_STATES
from dmlviz.storage.files import atomic_write, ensure_dir

MAX_FILES = 1000
MAX_BYTES = 500_000_000  # unpacked
EVENTS_FILE = "events.jsonl"
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_FILE = re.compile(rf"(?:{_PART}/){{0,3}}{_PART}\.(?:npz|npy|json|png|csv|txt|parquet)")


def pack_trial(record: TrialRecord) -> bytes:
    """Return a zip file of a trial's events and of what it wrote."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(record.path.rglob("*")):
            name = path.relative_to(record.path).as_posix()
            if path.is_file() and (name == EVENTS_FILE or _is_trial_file(name)):
                archive.write(path, name)
    return file.getvalue()


class LiveTrial:
    """A trial that a machine of the fleet does, on the server's disk: its progress first, all that it wrote last."""

    def __init__(self, record: TrialRecord) -> None:
        self.record = record
        self.lines = 0  # of the log, so far
        self._complete = False  # but for what comes with the packed trial

    def update_info(self, **fields: Any) -> None:
        """Do nothing: a trial has no description that could hold the fields."""

    def write(self, message: dict[str, Any]) -> bool:
        """Write the new lines of a message; return False, and write nothing, if lines before it are missing."""
        known = self.lines - message["first"]
        if self._complete:
            return True
        if known < 0:
            return False
        lines: list[bytes] = []
        for line in message["lines"][known:]:
            if self._event(line.encode(), self.lines + len(lines))["event"] in FINAL_STATES:
                self._complete = True
                break
            lines.append(line.encode())
        self.record.log.append_lines(lines)
        self.lines += len(lines)
        return True

    def finish(self, packed: bytes) -> None:
        """Put what a trial wrote into its folder, its final event last.

        Raises:
            UserError: If it is no trial.
            MachineLostError: If it was cut off.
        """
        contents = _unpacked(packed)
        lines = contents.pop(EVENTS_FILE, b"").splitlines()
        for number, line in enumerate(lines):
            event = self._event(line, number)
        if not lines or event["event"] not in FINAL_STATES:
            raise MachineLostError("The trial was cut off.")
        for name, content in contents.items():
            if not _is_trial_file(name):
                raise UserError(f"A trial has no file {name[:60]!r}.")
            path = self.record.path / name
            ensure_dir(path.parent)
            with atomic_write(path) as file:
                file.write(content)
        before = self.record.log.lines()
        if lines[: len(before)] == before:
            self.record.log.append_lines(lines[len(before) :])
        else:
            whole = self.record.path / f"{EVENTS_FILE}.whole"
            whole.write_bytes(b"".join(line + b"\n" for line in lines))
            os.replace(whole, self.record.log.path)

    def _event(self, line: bytes, number: int) -> dict[str, Any]:
        event: dict[str, Any] = self.record.log.event(line, number)
        if not isinstance(event.get("event"), str):
            raise UserError("It sent a line that is no event.")
        return event


def _unpacked(packed: bytes) -> dict[str, bytes]:
    """Return the files of a zip file by name; raise UserError if it is none, or too large."""
    try:
        with zipfile.ZipFile(BytesIO(packed)) as archive:
            files = archive.infolist()
            if len(files) <= MAX_FILES and sum(file.file_size for file in files) <= MAX_BYTES:
                return {file.filename: archive.read(file) for file in files}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error):
        raise UserError("What it sent is no trial.") from None
    raise UserError("It is larger than any trial may be.")


def _is_trial_file(name: str) -> bool:
    return name != ORDER_FILE and _FILE.fullmatch(name) is not None
