"""Claims of jobs: of the programs that share a folder of runs, one does a job, and another takes it over."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import ensure_dir

FOLDER = ".claims"  # in the folder of runs: an empty file for each job that waits or runs


class Claim:
    """The right to do a job, which this process holds until `release` or its end."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock

    def release(self) -> None:
        """Let another process do the job."""
        with suppress(OSError):  # while it is locked, so that nobody locks a file that is gone
            self._lock.path.unlink()
        self._lock.release()


def work_id(folder: Path) -> str:
    """Return the ID of the work of a folder."""
    return hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]


def claim(runs: Path, folder: Path) -> Claim | None:
    """Claim the job of a folder, in or beside a folder of runs; None while another process has it."""
    path = ensure_dir(runs / FOLDER) / work_id(folder)
    while True:
        lock = FileLock(path)
        if not lock.acquire(0.0):
            return None
        if lock.is_there:
            return Claim(lock)
        lock.release()  # whoever had it has removed the file


def is_claimed(runs: Path, folder: Path) -> bool:
    """Return whether any process has the job of a folder."""
    return FileLock(runs / FOLDER / work_id(folder)).locked


@contextmanager
def claimed(runs: Path, folder: Path, busy: str) -> Iterator[None]:
    """Hold a claim for as long as the block lasts; raise UserError, with the sentence `busy`, where another has it."""
    right = claim(runs, folder)
    if right is None:
        raise UserError(busy)
    try:
        yield
    finally:
        right.release()
