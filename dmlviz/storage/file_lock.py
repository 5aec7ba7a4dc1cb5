"""A lock that one process holds on a file; the system releases it when that process exits for any reason."""

import errno
import os
import time
from pathlib import Path
from typing import IO

from dmlviz.errors import DamagedFileError
from dmlviz.process_setup import try_lock
from dmlviz.storage.disk_space import writing
from dmlviz.storage.regular_file import open_regular


class FileLock:
    """A lock on a file (flock, on Windows msvcrt's lock of a byte) held by one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def acquire(self, timeout: float = 1.0) -> bool:
        """Acquire the lock; return False if it is still held after `timeout` seconds."""
        with writing(self.path.parent):
            self._file = open_regular(self.path, "ab+")
        deadline = time.monotonic() + timeout
        while not _locks(self._file):
            if time.monotonic() > deadline:
                self.release()
                return False
            time.sleep(0.02)
        return True

    def release(self) -> None:
        """Release the lock, if held."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def is_there(self) -> bool:
        """Return whether the file that this process has locked is still the one of that name."""
        try:
            return self._file is not None and os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except FileNotFoundError:
            return False

    @property
    def locked(self) -> bool:
        """Return whether any process, this one included, holds the lock now."""
        try:
            with open_regular(self.path) as file:
                return not _locks(file, shared=True)  # two simultaneous checks must not block each other
        except (FileNotFoundError, DamagedFileError):  # no process holds a lock that is no file
            return False


def _locks(file: IO[bytes], shared: bool = False) -> bool:
    try:
        try_lock(file, shared)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True
