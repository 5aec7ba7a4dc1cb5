"""Small files for the pages of a site: JSON and arrays as gzip, which `frontend/src/standalone/unpack.ts` reads.

Data are arranged for gzip, in two ways. Each array is stored byte plane by byte plane: all low bytes, then all
higher ones, which vary less. Rows that change little from one to the next are stored as differences.
"""

import gzip
import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dmlviz.export.page_contents import MapContents, PageStream, RunContents
from dmlviz.storage.run_schema.events import RunEvent, frames_of

if TYPE_CHECKING:
    from dmlviz.export.program.writer import Program
    from dmlviz.export.query_net import QueryNet

LEVEL = 9
# Positions on the way are kept in steps of 1/4096 of the map's width, a quarter of a pixel; those at the end, exactly.
FRAME_STEP = 16
# The last byte of a float32 weight is left out: 16 bits of its fraction remain. The numbers of an embedding of length 1
# change by 5e-6 at most.
WEIGHT_BYTES_OUT = 1


class Parts:
    """The arrays of a file; `add` returns what stands for one in the JSON."""

    def __init__(self) -> None:
        self.described: list[dict[str, Any]] = []
        self.data: list[bytes] = []

    def add(self, array: np.ndarray, deltas: bool = False, bytes_out: int = 0) -> dict[str, int]:
        """Add rows of little-endian numbers.

        Args:
            array: Rows × columns, or one row.
            deltas: Whether to store each row of 16-bit integers as differences from the row before.
            bytes_out: Number of low bytes of each number to leave out; they are read as 0.
        """
        rows = np.ascontiguousarray(np.atleast_2d(array))
        width = rows.itemsize
        self.described.append({"columns": rows.shape[1], "width": width, "deltas": deltas, "out": bytes_out})
        if deltas:
            rows = _differences(rows)
        planes = rows.reshape(-1).view(np.uint8).reshape(-1, width).T[bytes_out:]
        self.described[-1]["size"] = planes.size
        self.data.append(planes.tobytes())
        return {"part": len(self.data) - 1}

    def file(self, contents: dict[str, Any]) -> bytes:
        """Return a gzip file: the length of the JSON as uint32, the JSON, and the parts one after another."""
        text = json.dumps({"contents": contents, "parts": self.described}, separators=(",", ":")).encode()
        length = len(text).to_bytes(4, "little")
        return gzip.compress(b"".join([length, text, *self.data]), LEVEL, mtime=0)


def pack_run(contents: RunContents | MapContents) -> bytes:
    """Return a file with the contents of a run or of a projection, without `left_out`."""
    parts = Parts()
    packed: dict[str, Any] = {name: value for name, value in contents.items() if name != "left_out"}
    if near := packed.get("near"):
        packed["labels"] = parts.add(packed["labels"])
        packed["near"] = near | {
            "items": parts.add(near["items"]),
            "distances": parts.add(near["distances"], deltas=True),  # they grow from neighbor to neighbor
        }
    packed["files"] = {
        name: parts.add(np.frombuffer(cast(bytes, file), np.uint8)) for name, file in contents["files"].items()
    }
    packed["streams"] = [{**stream, "frames": _pack_frames(stream, parts)} for stream in contents["streams"]]
    return parts.file(packed)


def pack_net(net: "QueryNet") -> bytes:
    """Return a file with the program of a net, its weights, and the embeddings of the test images."""
    parts = Parts()
    packed, values = pack_program(net.program, parts), pack_weights(net.weights, parts)
    return parts.file({"embed": packed, "weights": values, "embeddings": parts.add(net.embeddings)})


def pack_program(program: "Program", parts: Parts) -> dict[str, Any]:
    """Add a program; see `PackedProgram` in frontend/src/program/format.ts."""
    return {"program": program.described, "constants": [parts.add(array) for array in program.constants]}


def pack_weights(weights: dict[str, np.ndarray], parts: Parts) -> list[dict[str, Any]]:
    """Add weights by name; each is an array with its shape."""
    return [
        {
            "name": name,
            "shape": list(array.shape),
            "values": parts.add(_rounded(array.ravel(), WEIGHT_BYTES_OUT), bytes_out=WEIGHT_BYTES_OUT),
        }
        for name, array in weights.items()
    ]


def _pack_frames(stream: PageStream, parts: Parts) -> dict[str, dict[str, int]]:
    """Add the frames, neighbors in time as one array where they have the same size; name the place of each."""
    last = _last_frame(stream["events"])
    places: dict[str, dict[str, int]] = {}
    frames = cast(dict[str, bytes], stream["frames"])  # before it becomes base64
    for _, group in groupby(frames.items(), lambda named: len(named[1])):
        named = list(group)
        rows = [_rounded_frame(data) if name != last else np.frombuffer(data, "<i2") for name, data in named]
        part = parts.add(np.stack(rows), deltas=True)
        places |= {name: part | {"row": row} for row, (name, _) in enumerate(named)}
    return places


def _last_frame(events: list[RunEvent]) -> str | None:
    """Return the ID of the frame at the end: of the replay, else of the projection."""
    replays = [event for event in events if event["event"] == "replay"]
    frames = [frame for event in replays or events for frame in frames_of(event)]
    return frames[-1]["id"] if frames else None


def _rounded_frame(data: bytes) -> np.ndarray:
    """Return int16 positions rounded to FRAME_STEP; -32768, a missing one, stays."""
    positions = np.frombuffer(data, "<i2").astype(np.int32)
    rounded = (positions + FRAME_STEP // 2) // FRAME_STEP * FRAME_STEP
    largest = 32768 - FRAME_STEP
    return np.where(positions == -32768, -32768, np.clip(rounded, -largest, largest)).astype("<i2")


def _differences(rows: np.ndarray) -> np.ndarray:
    """Return rows of 16-bit integers as differences from the row before, small ones of either sign as small numbers."""
    before = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    signed = (rows.view("<u2") - before.view("<u2")).view("<i2")  # modulo 65536
    differences: np.ndarray = ((signed << 1) ^ (signed >> 15)).view("<u2")
    return differences


def _rounded(weights: np.ndarray, bytes_out: int) -> np.ndarray:
    """Return float32 numbers rounded to what remains without their low bytes."""
    last = np.uint32(1 << 8 * bytes_out)
    bits = weights.astype("<f4").view("<u4") + last // 2
    rounded: np.ndarray = (bits - bits % last).view("<f4")
    return rounded
