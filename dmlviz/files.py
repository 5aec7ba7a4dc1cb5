"""Files that a reader may open at any moment: whole or not there, and a log that may end in a torn line."""

import errno
import fcntl
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from pydantic import TypeAdapter

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.run_schema import OBJECT, parse

_ID = re.compile(r"[0-9a-f]{16}")


def is_id(text: object) -> bool:
    """Whether this is 16 hexadecimal digits, and so a name that cannot lead out of its folder."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name, whole, when the block ends; after an exception nothing appears."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write one JSON document, atomically."""
    with atomic(path) as file:
        file.write(json.dumps(value, indent=1, allow_nan=False).encode())


def write_array(path: Path, array: np.ndarray) -> None:
    """Write an npy file, atomically and without pickle."""
    with atomic(path) as file:
        np.save(file, array, allow_pickle=False)


def read_json(path: Path) -> Any:
    """Read a JSON document; None when there is no such file or it is not JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


class Log:
    """Lines of JSON that are appended by one process and read by others; a torn last line does not count.

    `kinds` is what a line may be (of those in run_schema), by default any object; others raise DamagedFileError.
    """

    def __init__(self, path: Path, kinds: TypeAdapter[Any] = OBJECT) -> None:
        self.path = path
        self.kinds = kinds

    def append(self, event: dict[str, Any]) -> None:
        """Add one line; what an earlier writer left unfinished is cut off first. NaN and infinity become null."""
        line = json.dumps(_plain(event), separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with open(self.path, "ab+") as file:
            end = file.seek(0, os.SEEK_END)
            if end and (file.seek(end - 1), file.read(1))[1] != b"\n":
                file.truncate(self._last_newline(file, end))
            file.write(line)

    def lines(self, after: int = 0) -> list[bytes]:
        """Every whole line from number `after` (counted from 0) on, as it is."""
        return self._content().split(b"\n")[after:-1]

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """The whole lines, parsed."""
        return [self.event(line, number) for number, line in enumerate(self.lines(after), after)]

    def event(self, line: bytes, number: int | None = None) -> dict[str, Any]:
        """One line, parsed; `number` (counted from 0) is for the sentence that says which one is damaged."""
        return parse(self.kinds, line, self.path, "its last line: " if number is None else f"line {number + 1}: ")

    def last(self, within: int = 1 << 16) -> dict[str, Any] | None:
        """The last whole line, parsed, read from the last `within` bytes; None when there is none so short."""
        content = self._content(within)
        parts = content.split(b"\n")
        whole = parts[:-1] if len(content) < within else parts[1:-1]
        return self.event(whole[-1]) if whole else None

    def _content(self, within: int | None = None) -> bytes:
        """All bytes, or the last so many; none where there is no log."""
        try:
            with open(self.path, "rb") as file:
                if within is not None:
                    file.seek(max(0, file.seek(0, os.SEEK_END) - within))
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise DamagedFileError(self.path, (error.strerror or type(error).__name__).lower()) from None

    @staticmethod
    def _last_newline(file: IO[bytes], end: int) -> int:
        file.seek(0)
        return file.read(end).rfind(b"\n") + 1


class Follower:
    """Reads a log as it grows: each call of `new` gives the lines since the call before, with their numbers."""

    def __init__(self, path: Path, after: int = 0) -> None:
        self.path = path
        self.after = after
        self._number = 0
        self._offset = 0
        self._inode = 0

    def new(self) -> list[tuple[int, str]]:
        """(number, line) of every whole line not given yet, counted from 0; anew when the log was begun anew."""
        try:
            with open(self.path, "rb") as file:
                now = os.fstat(file.fileno())
                if now.st_ino != self._inode or now.st_size < self._offset:
                    self.after = self.after if self._inode == 0 else 0
                    self._number, self._offset, self._inode = 0, 0, now.st_ino
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return []
        text = text[: text.rfind(b"\n") + 1]
        self._offset += len(text)
        lines = list(enumerate((line.decode(errors="replace") for line in text.split(b"\n")[:-1]), self._number))
        self._number += len(lines)
        return [(number, line) for number, line in lines if number >= self.after]


class Lock:
    """A file that one living process holds; the system lets go of it when that process dies, however it dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def take(self, patience: float = 1.0) -> bool:
        """Hold it; False when another holder keeps it for `patience` seconds."""
        self._file = open(self.path, "ab")  # noqa: SIM115  (held open on purpose)
        deadline = time.monotonic() + patience
        while not _flock(self._file, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                self.release()
                return False
            time.sleep(0.02)
        return True

    def release(self) -> None:
        """Let go."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def held(self) -> bool:
        """Whether some process (this one included) holds it now."""
        try:
            with open(self.path, "rb") as file:
                return not _flock(file, fcntl.LOCK_SH)  # shared: two who ask at once must not see each other
        except FileNotFoundError:
            return False


def _flock(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def make_folder(path: Path) -> Path:
    """Make a folder with its parents; raise UserError where that is not allowed."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        return path
    except OSError as error:
        raise UserError(f"{path} cannot be made ({error.strerror}); choose a folder that you may write to.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
