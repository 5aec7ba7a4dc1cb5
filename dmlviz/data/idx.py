"""Reader of IDX, the file format of MNIST and its relatives (LeCun, Cortes, Burges 1998)."""

import gzip
import re
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dmlviz.errors import DataUnavailableError
from dmlviz.storage.arrays import read_arrays

UINT8 = 0x08
HINT = "Delete the file, and it is downloaded again."


_NAME = re.compile(
    r"(?P<prefix>[\w. -]*?)[-_. ]?(?P<part>train|t10k|test)[-_. ]?(?P<kind>image|img|label)s?"
    r"([-_. ]?idx\d?([-_. ]?ubyte)?|[-_. ]?ubyte|(?=\.npz))( ?\(\d+\))?(\.gz|\.npz)*",
    re.IGNORECASE,
)


class FileName(NamedTuple):
    """What the name of a file says: a prefix, train or test, images or labels."""

    prefix: str
    part: str
    kind: str


def parse_name(name: str) -> FileName | None:
    """Return what the name of a file of MNIST or a relative says, as it is passed on; None for any other.

    Examples:
        >>> parse_name("t10k-images.idx3-ubyte.gz")
        FileName(prefix='', part='test', kind='images')
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    part, kind = match["part"].lower(), match["kind"].lower()
    return FileName(
        match["prefix"].lower(), "train" if part == "train" else "test", "labels" if kind == "label" else "images"
    )


def find(folder: Path, name: str) -> Path | None:
    """Return the path of file `name`, plain or compressed, in `folder`, the folder around it or one in it.

    It may have any name that it is passed on with, such as train-images.idx3-ubyte; None if there is none.
    """
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    meant = parse_name(name)
    if meant is None:
        return None
    places = [place for place in (folder, folder.parent) if place.is_dir()]
    places += [path for place in places[:1] for path in sorted(place.iterdir()) if path.is_dir()]

    def is_meant(path: Path) -> bool:
        named = parse_name(path.name)
        if named is None or named[1:] != meant[1:] or not path.is_file():
            return False
        own = re.sub(r"[\W_]", "", named.prefix) == folder.parent.name.lower()  # KMNIST/raw/kmnist-train-imgs.npz
        return named.prefix == meant.prefix or (not meant.prefix and own)

    return next((path for place in places for path in sorted(place.iterdir()) if is_meant(path)), None)


def read(path: Path, dims: int, hint: str = HINT) -> np.ndarray:
    """Read a uint8 array with `dims` axes from a plain, .gz or .npz file; raise DataUnavailableError otherwise."""
    if path.suffix == ".npz":
        array = next(iter(read_arrays(path).values()), np.empty(0))
        if array.dtype != np.uint8 or array.ndim != dims:
            raise DataUnavailableError(f"{path} holds {array.dtype} of shape {array.shape}: bring the file again.")
        return array
    try:
        data = _bytes(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataUnavailableError(f"{path} is damaged or cut off ({error}). {hint}") from None
    except OSError as error:
        raise DataUnavailableError(
            f"{path} cannot be read ({error.strerror or error}): check its permissions."
        ) from None
    return parse(data, dims, str(path), hint)


def parse(data: np.ndarray, dims: int, name: str, hint: str = HINT) -> np.ndarray:
    """Parse the bytes of an IDX file without copying them; `name` and `hint` are used in error messages."""
    header = 4 + 4 * dims
    magic = bytes(data[:4])
    if magic != bytes([0, 0, UINT8, dims]):
        kind = "images" if dims == 3 else "labels"
        raise DataUnavailableError(
            f"{name} is no IDX file of {kind}: it begins with {magic.hex(' ') or 'nothing'}, "
            f"not with 00 00 08 {dims:02x}. {hint}"
        )
    if data.size < header:
        raise DataUnavailableError(f"{name} is cut off: {data.size} bytes do not hold its header. {hint}")
    shape = tuple(int(side) for side in data[4:header].view(">u4"))
    expected_size = header + int(np.prod(shape, dtype=object))
    if data.size != expected_size:
        problem = "is cut off" if data.size < expected_size else "is too long"
        sides = " × ".join(map(str, shape))
        raise DataUnavailableError(
            f"{name} {problem}: its header promises {sides} values, {expected_size:,} bytes; it has "
            f"{data.size:,}. {hint}"
        )
    return data[header:].reshape(shape)


def _bytes(path: Path) -> np.ndarray:
    if path.suffix == ".gz":
        return np.frombuffer(bytearray(gzip.decompress(path.read_bytes())), np.uint8)
    return np.fromfile(path, np.uint8)
