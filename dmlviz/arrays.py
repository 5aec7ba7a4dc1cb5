"""The one place that reads NumPy's files: safe in threads, without pickle, and every damage is one error.

`np.load` reads a header with `ast.literal_eval`, which CPython before 3.11.8 lets fail when two threads parse at once
(gh-106905). The headers that NumPy writes for plain numbers are simple enough to be matched instead.
"""

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from dmlviz.errors import DamagedFileError, UserError

NUMBERS = "fiub"  # kinds of dtypes: floats, whole numbers with and without a sign, true or false
WHOLE = "iu"
LARGEST = 2_000_000_000  # bytes of the arrays of one npz, unpacked
LONGEST_HEADER = 4096  # NumPy pads a plain one to 128

_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    r"\{\s*'descr':\s*'([<>|=]?[a-zA-Z]\d{1,6})',\s*'fortran_order':\s*(True|False),"
    r"\s*'shape':\s*\(((?:\d{1,15},?\s*)*)\),?\s*\}\s*"
)
_BROKEN = (
    *(OSError, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError, OverflowError, MemoryError),
    *(TypeError, IndexError, zipfile.BadZipFile, zlib.error, struct.error),
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever reading a file raises into a DamagedFileError that names it; FileNotFoundError is let through."""
    try:
        yield
    except (UserError, FileNotFoundError):
        raise
    except _BROKEN as error:
        raise DamagedFileError(path, _said(error)) from None


def read_array(path: Path, kinds: str = NUMBERS, shape: tuple[int | None, ...] | None = None) -> np.ndarray | None:
    """Map an npy file into memory, read-only.

    `kinds` are the kinds of dtypes it may hold, `shape` what it has to be, None standing for any length. None when
    there is no such file; raise DamagedFileError for anything else than such an array.
    """
    try:
        with reading(path), open(path, "rb") as file:
            found, fortran, dtype = _header(file)
            checked(path, found, dtype, kinds, shape)
            order: str = "F" if fortran else "C"
            if math.prod(found) == 0:  # nothing to map
                return np.zeros(found, dtype)
            return np.memmap(file, dtype=dtype, mode="r", offset=file.tell(), shape=found, order=order)  # type: ignore[call-overload, no-any-return]
    except FileNotFoundError:
        return None


def shape_of(path: Path) -> tuple[int, ...] | None:
    """The shape that an npy file announces and is long enough for; None when there is no such file."""
    try:
        with reading(path), open(path, "rb") as file:
            shape, _, dtype = _header(file)
            if path.stat().st_size - file.tell() < math.prod(shape) * dtype.itemsize:
                raise ValueError("it is cut off")
            return shape
    except FileNotFoundError:
        return None


def names_of(path: Path) -> list[str]:
    """The names of the arrays in an npz file."""
    with reading(path), zipfile.ZipFile(path) as stored:
        return [name.removesuffix(".npy") for name in stored.namelist()]


def read_arrays(path: Path, kinds: str = f"{NUMBERS}U", names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Read an npz file, or those of its arrays that are named.

    Raise DamagedFileError for anything else, and FileNotFoundError where there is none.
    """
    with reading(path), zipfile.ZipFile(path) as stored:
        entries = stored.infolist()
        if names is not None:
            entries = [entry for entry in entries if entry.filename.removesuffix(".npy") in names]
        if sum(entry.file_size for entry in entries) > LARGEST:
            raise ValueError("it unpacks to more than any file of ours")
        found = {}
        for entry in entries:
            with stored.open(entry) as part:
                content = io.BytesIO(part.read(entry.file_size + 1))
            name = entry.filename.removesuffix(".npy")
            shape, fortran, dtype = _header(content)
            checked(path, shape, dtype, kinds, None)
            values = np.frombuffer(bytearray(content.read()), dtype, count=math.prod(shape))
            found[name] = values.reshape(shape, order="F" if fortran else "C")
        return found


def take(path: Path, arrays: Mapping[str, np.ndarray], name: str, kinds: str = NUMBERS) -> np.ndarray:
    """One of the arrays of an npz, which has to be there and of these kinds."""
    if name not in arrays:
        raise DamagedFileError(path, f"it holds no {name}")
    checked(path, arrays[name].shape, arrays[name].dtype, kinds, None)
    return arrays[name]


def checked(
    path: Path, found: tuple[int, ...], dtype: np.dtype, kinds: str, shape: tuple[int | None, ...] | None
) -> None:
    """Raise DamagedFileError for an array of other kinds than these, or of another shape."""
    if dtype.kind not in kinds or dtype.hasobject:
        raise DamagedFileError(path, f"it holds {dtype}, and should hold {'whole ' if kinds == WHOLE else ''}numbers")
    alike = shape is None or (
        len(found) == len(shape)
        and all(wanted is None or wanted == length for wanted, length in zip(shape, found, strict=True))
    )
    if not alike:
        assert shape is not None
        wanted = " × ".join("n" if length is None else str(length) for length in shape)
        raise DamagedFileError(path, f"it should be {wanted}; got {' × '.join(map(str, found)) or 'one number'}")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether column-major, dtype; the file then stands where the numbers begin."""
    start = file.read(8)
    if len(start) < 8:
        raise ValueError("it is cut off" if start else "it is empty")
    if start[:6] != _MAGIC or start[6] not in (1, 2, 3):
        raise ValueError("it is no npy file")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(file.read(width), "little")
    if length > LONGEST_HEADER:
        raise ValueError("its header is too long")
    header = file.read(length)
    match = _HEADER.fullmatch(header.decode("latin-1").rstrip("\n"))
    if len(header) < length or match is None:
        raise ValueError("its header is cut off or changed")
    shape = tuple(int(part) for part in match[3].split(",") if part.strip())
    try:
        dtype = np.dtype(match[1])
    except TypeError:
        raise ValueError(f"it holds {match[1]!r}, which is no kind of number") from None
    if math.prod(shape) * max(1, dtype.itemsize) > 1 << 48:
        raise ValueError("it announces more numbers than any file holds")
    return shape, match[2] == "True", dtype


def _said(error: BaseException) -> str:
    """What is wrong with a file, in a few words."""
    if isinstance(
        error, zipfile.BadZipFile | zlib.error | struct.error | EOFError | RuntimeError | NotImplementedError
    ):
        return "it is cut off or changed"
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    text = " ".join(str(error).split())[:160]
    return "it is cut off" if "mmap length" in text or "buffer is smaller" in text else text or type(error).__name__
