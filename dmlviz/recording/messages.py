"""Messages from the training process to the process that writes: a JSON object, then an array's bytes, if any."""

import json
import struct
from typing import IO, Literal, NotRequired, TypeAlias, TypedDict

import numpy as np

from dmlviz.storage.run_schema.descriptions import DatasetDescription

_LENGTH = struct.Struct("<I")


class PlanMessage(TypedDict):
    """The first message, with the labels: the fields of a `RunPlan`."""

    event: Literal["plan"]
    runs: str
    title: str
    recording: str
    dataset: DatasetDescription
    steps: int | None
    projection: str | None


class StepMessage(TypedDict):
    """The loss of a batch, and the processor seconds of the training so far."""

    event: Literal["step"]
    step: int
    loss: float | None
    active: float | None
    cpu_seconds: float


class SnapshotMessage(TypedDict):
    """A snapshot, with its embeddings; `behind`: further ones wait, so that it is not scored."""

    event: Literal["snapshot"]
    step: int
    cpu_seconds: float
    behind: NotRequired[bool]


class EndMessage(TypedDict):
    """The last message; `reason` is empty when the training is finished."""

    event: Literal["end"]
    reason: str
    cpu_seconds: float


Message: TypeAlias = PlanMessage | StepMessage | SnapshotMessage | EndMessage
Item: TypeAlias = tuple[Message, np.ndarray | None]


def send(file: IO[bytes], message: Message, array: np.ndarray | None = None) -> None:
    """Write one message to an unbuffered file; `array` must be contiguous."""
    shape = None if array is None else {"shape": array.shape, "dtype": array.dtype.str}
    header = json.dumps({**message, "array": shape}).encode()
    _write(file, _LENGTH.pack(len(header)) + header)
    if array is not None and array.size:
        _write(file, array.reshape(-1).view(np.uint8).data)


def receive(file: IO[bytes]) -> Item | None:
    """Read one message from an unbuffered file; None when the other end is closed, also in the middle of one."""
    length = bytearray(_LENGTH.size)
    if not _fill(file, length):
        return None
    header = bytearray(_LENGTH.unpack(length)[0])
    if not _fill(file, header):
        return None
    message = json.loads(header)
    layout = message.pop("array")
    if layout is None:
        return message, None
    array = np.empty(layout["shape"], layout["dtype"])
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
