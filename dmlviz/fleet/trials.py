"""Trials of studies that other machines do: packed there, checked and unpacked by the server."""

import re
import zipfile
import zlib
from io import BytesIO
from typing import Any

from dmlviz.errors import UserError
from dmlviz.jobs.job_record import ORDER_FILE
from dmlviz.runs.event_log_dir import EventLogDir

MAX_FILES = 1000
MAX_BYTES = 500_000_000  # unpacked
EVENTS_FILE = "events.jsonl"
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_FILE = re.compile(rf"(?:{_PART}/){{0,3}}{_PART}\.(?:npz|npy|json|png|csv|txt|parquet)")


def pack_trial(record: EventLogDir[Any, Any]) -> bytes:
    """Return a zip file of a trial's events and of what it wrote."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(record.path.rglob("*")):
            name = path.relative_to(record.path).as_posix()
            if path.is_file() and (name == EVENTS_FILE or is_trial_file(name)):
                archive.write(path, name)
    return file.getvalue()


def unpack_trial(content: bytes) -> dict[str, bytes]:
    """Return the files of a zip file by name; raise UserError if it is none, or too large."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            files = archive.infolist()
            if len(files) <= MAX_FILES and sum(file.file_size for file in files) <= MAX_BYTES:
                return {file.filename: archive.read(file) for file in files}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error):
        raise UserError("What it sent is no trial.") from None
    raise UserError("It is larger than any trial may be.")


def is_trial_file(name: str) -> bool:
    """Return whether a trial may write a file of this name, with / between its parts."""
    return name != ORDER_FILE and _FILE.fullmatch(name) is not None
