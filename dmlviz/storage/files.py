"""Atomic writes and the event log: safe for readers in other processes at any moment."""

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import IO, Any, Generic

import numpy as np
from pydantic import TypeAdapter
from typing_extensions import TypeVar

from dmlviz.errors import DiskFullError, UserError
from dmlviz.storage.arrays import reading
from dmlviz.storage.disk_space import writing
from dmlviz.storage.regular_file import open_regular
from dmlviz.storage.run_schema.validation import OBJECT, parse

_ID = re.compile(r"[0-9a-f]{16}")
Event = TypeVar("Event", bound=Mapping[str, Any], default=Any)


def is_run_id(text: object) -> bool:
    """Return whether `text` is 16 hexadecimal digits, and so a safe folder name."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def write_all(path: Path, content: IO[bytes]) -> None:
    """Write a file that appears complete, with all that another one holds."""
    size = content.seek(0, os.SEEK_END)
    content.seek(0)
    with atomic_write(path, size) as file:
        shutil.copyfileobj(content, file)


@contextmanager
def atomic_write(path: Path, size: int = 0) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name, complete, when the block ends; after an exception nothing appears.

    Args:
        path: The file.
        size: Bytes that are to be written, if known: for the words of a DiskFullError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with writing(path.parent, size):
            with open(temporary, "wb") as file:
                yield file
            os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)  # the name that was given
        raise


def write_json(path: Path, value: Any) -> None:
    """Write one JSON document, atomically."""
    with atomic_write(path) as file:
        file.write(json.dumps(value, indent=1, allow_nan=False).encode())


def write_array(path: Path, array: np.ndarray) -> None:
    """Write an npy file, atomically and without pickle."""
    whole = np.ascontiguousarray(array)
    with atomic_write(path, whole.nbytes) as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(whole))
        file.write(whole.reshape(-1).view(np.uint8).data)  # np.save would hide that a disk is full


def read_json(path: Path) -> Any:
    """Read a JSON document; None when there is no such file or it is not JSON."""
    try:
        with open_regular(path) as file:
            return json.loads(file.read())
    except (OSError, ValueError):
        return None


class EventLog(Generic[Event]):
    """A log of JSON lines, appended by one process and read by others; an incomplete last line is ignored.

    Args:
        path: The log file; it may not exist yet.
        kinds: Schema of one line (see run_schema), any object by default. Other lines raise DamagedFileError.
    """

    def __init__(self, path: Path, kinds: TypeAdapter[Any] = OBJECT) -> None:
        self.path = path
        self.kinds: TypeAdapter[Event] = kinds

    def append(self, event: Mapping[str, Any]) -> None:
        """Append one line, after removing an incomplete last line. NaN and infinity become null."""
        self.append_lines([json.dumps(to_json(event), separators=(",", ":"), allow_nan=False).encode()])

    def append_lines(self, lines: list[bytes]) -> None:
        """Append lines as they are, without their ends, after removing an incomplete last line."""
        with writing(self.path.parent), open_regular(self.path, "ab+") as file:
            end = file.seek(0, os.SEEK_END)
            if end and (file.seek(end - 1), file.read(1))[1] != b"\n":
                file.truncate(self._last_newline(file, end))
            file.write(b"".join(line + b"\n" for line in lines))

    def lines(self, after: int = 0) -> list[bytes]:
        """Return the complete lines from number `after` (0-based) on, unparsed."""
        return self._content().split(b"\n")[after:-1]

    def events(self, after: int = 0) -> list[Event]:
        """Return the complete lines from number `after` (0-based) on, parsed."""
        return [self.event(line, number) for number, line in enumerate(self.lines(after), after)]

    def event(self, line: bytes, number: int | None = None) -> Event:
        """Parse one line; `number` (0-based) names the line in the error message."""
        return parse(self.kinds, line, self.path, "its last line: " if number is None else f"line {number + 1}: ")

    def last(self, within: int = 1 << 16) -> Event | None:
        """Return the last complete line, parsed; None if there is none within the last `within` bytes."""
        content = self._content(within)
        parts = content.split(b"\n")
        complete = parts[:-1] if len(content) < within else parts[1:-1]
        return self.event(complete[-1]) if complete else None

    def _content(self, within: int | None = None) -> bytes:
        """Read all bytes, or the last `within`; empty when there is no log."""
        try:
            with reading(self.path), open_regular(self.path) as file:
                if within is not None:
                    file.seek(max(0, file.seek(0, os.SEEK_END) - within))
                return file.read()
        except FileNotFoundError:
            return b""

    @staticmethod
    def _last_newline(file: IO[bytes], end: int) -> int:
        file.seek(0)
        return file.read(end).rfind(b"\n") + 1


class LogFollower:
    """Reads a growing log: each call of `read_new` returns the lines since the previous call.

    Args:
        path: The log file; it may not exist yet.
        after: Number (0-based) of the first line to return.
    """

    def __init__(self, path: Path, after: int = 0) -> None:
        self.path = path
        self.after = after
        self._number = 0
        self._offset = 0
        self._inode = 0
        self.restarts = 0  # times that the file was replaced

    def read_new(self) -> list[tuple[int, str]]:
        """Return (number, line) of every new complete line, 0-based; restart when the file was replaced."""
        try:
            with open_regular(self.path) as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._offset:
                    if self._inode != 0:
                        self.after = 0
                        self.restarts += 1
                    self._number, self._offset, self._inode = 0, 0, status.st_ino
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return []
        text = text[: text.rfind(b"\n") + 1]
        self._offset += len(text)
        lines = list(enumerate((line.decode(errors="replace") for line in text.split(b"\n")[:-1]), self._number))
        self._number += len(lines)
        return [(number, line) for number, line in lines if number >= self.after]


def ensure_dir(path: Path) -> Path:
    """Create a folder with its parents and return it; raise UserError where that is not allowed."""
    try:
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        return path
    except DiskFullError:
        raise
    except OSError as error:
        raise UserError(f"Cannot create {path} ({error.strerror}): choose a writable folder.") from None


def to_json(value: Any) -> Any:
    """Return a value as JSON types: numbers as Python's, NaN and infinity as None, a dataclass as its fields."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
