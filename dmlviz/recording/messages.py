"""Messages from the training process to the process that writes: a JSON object, then an array's bytes, if any."""

import json
import struct
from typing import IO, Any

import numpy as np

_LENGTH = struct.Struct("<I")


def send(file: IO[bytes], message: dict[str, Any], array: np.ndarray | None = None) -> None:
    """Write one message to an unbuffered file; `array` must be contiguous."""
    shape = None if array is None else {"shape": array.shape, "dtype": array.dtype.str}
    header = json.dumps(message | {"array": shape}).encode()
    _write(file, _LENGTH.pack(len(header)) + header)
    if array is not None and array.size:
        _write(file, array.reshape(-1).view(np.uint8).data)


def receive(file: IO[bytes]) -> tuple[dict[str, Any], np.ndarray | None] | None:
    """Read one message from an unbuffered file; None when the other end is closed, also in the middle of one."""
    length = bytearray(_LENGTH.size)
    if not _fill(file, length):
        return None
    header = bytearray(_LENGTH.unpack(length)[0])
    if not _fill(file, header):
        return None
    message: dict[str, Any] = json.loads(header)
    described = message.pop("array")
    if described is None:
        return message, None
    array = np.empty(described["shape"], described["dtype"])
    return (message, array) if array.size == 0 or _fill(file, array.reshape(-1).view(np.uint8).data) else None


def _write(file: IO[bytes], data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _fill(file: IO[bytes], buffer: bytearray | memoryview) -> bool:
    """Fill a buffer; False if the file ends before."""
    rest = memoryview(buffer)
    while rest:
        count = file.readinto(rest)  # type: ignore[attr-defined]
        if not count:
            return False
        rest = rest[count:]
    return True
