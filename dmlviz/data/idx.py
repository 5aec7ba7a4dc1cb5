"""Reader of IDX, the file format of MNIST and its relatives (LeCun, Cortes, Burges 1998)."""

import gzip
import zlib
from pathlib import Path

import numpy as np

from dmlviz.errors import DataUnavailableError

UINT8 = 0x08
HINT = "Delete the file, and it is downloaded again."


def find(folder: Path, name: str) -> Path | None:
    """Return the path of file `name` in `folder`, plain or else compressed; None if there is neither."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    return None


def read(path: Path, dims: int) -> np.ndarray:
    """Read a uint8 array with `dims` axes from a plain or .gz file; raise DataUnavailableError for an invalid one."""
    try:
        data = _bytes(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataUnavailableError(f"{path} is damaged or cut off ({error}). {HINT}") from None
    except OSError as error:
        raise DataUnavailableError(
            f"{path} cannot be read ({error.strerror or error}): check its permissions."
        ) from None
    return parse(data, dims, str(path))


def parse(data: np.ndarray, dims: int, name: str) -> np.ndarray:
    """Parse the bytes of an IDX file without copying them; `name` is used in error messages."""
    header = 4 + 4 * dims
    magic = bytes(data[:4])
    if magic != bytes([0, 0, UINT8, dims]):
        kind = "images" if dims == 3 else "labels"
        raise DataUnavailableError(
            f"{name} is no IDX file of {kind}: it begins with {magic.hex(' ') or 'nothing'}, "
            f"not with 00 00 08 {dims:02x}. {HINT}"
        )
    if data.size < header:
        raise DataUnavailableError(f"{name} is cut off: {data.size} bytes do not hold its header. {HINT}")
    shape = tuple(int(side) for side in data[4:header].view(">u4"))
    expected_size = header + int(np.prod(shape, dtype=object))
    if data.size != expected_size:
        problem = "is cut off" if data.size < expected_size else "is too long"
        sides = " × ".join(map(str, shape))
        raise DataUnavailableError(
            f"{name} {problem}: its header promises {sides} values, {expected_size:,} bytes; it has "
            f"{data.size:,}. {HINT}"
        )
    return data[header:].reshape(shape)


def _bytes(path: Path) -> np.ndarray:
    if path.suffix == ".gz":
        return np.frombuffer(bytearray(gzip.decompress(path.read_bytes())), np.uint8)
    return np.fromfile(path, np.uint8)
