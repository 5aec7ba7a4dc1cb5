"""Readers of npy and npz files: thread-safe, without pickle; any invalid file raises DamagedFileError.

`np.load` parses a header with `ast.literal_eval`, which in CPython before 3.11.8 can fail when two threads parse at
once (gh-106905). The headers that NumPy writes for plain numbers are simple enough for a regular expression.
"""

import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.regular_file import open_regular

NUMBERS = "fiub"  # dtype kinds: float, signed and unsigned integer, boolean
WHOLE = "iu"
MAX_UNPACKED_BYTES = 2_000_000_000  # of all arrays of one npz
MAX_HEADER_BYTES = 4096  # NumPy pads a plain one to 128

_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    r"\{\s*'descr':\s*'([<>|=]?[a-zA-Z]\d{0,6})',\s*'fortran_order':\s*(True|False),"
    r"\s*'shape':\s*\(((?:\d{1,15},?\s*)*)\),?\s*\}\s*"
)
_READ_ERRORS = (
    *(OSError, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError, OverflowError, MemoryError),
    *(TypeError, IndexError, zipfile.BadZipFile, zlib.error, struct.error),
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert any read error into a DamagedFileError that names the file; FileNotFoundError passes through."""
    try:
        yield
    except (UserError, FileNotFoundError):
        raise
    except _READ_ERRORS as error:
        raise DamagedFileError(path, _reason(error)) from None


def read_array(path: Path, kinds: str = NUMBERS, shape: tuple[int | None, ...] | None = None) -> np.ndarray | None:
    """Map an npy file into memory, read-only.

    Args:
        path: The file.
        kinds: Allowed dtype kinds (one letter each, as in `np.dtype.kind`).
        shape: Required shape; None for any length of an axis, or for any shape at all.

    Returns:
        The array, or None when there is no such file.

    Raises:
        DamagedFileError: For a file that holds no such array.
    """
    try:
        with reading(path), open_regular(path) as file:
            stored_shape, fortran, dtype = _header(file)
            check_array(path, stored_shape, dtype, kinds, shape)
            order: str = "F" if fortran else "C"
            if math.prod(stored_shape) == 0:  # nothing to map
                return np.zeros(stored_shape, dtype)
            return np.memmap(file, dtype=dtype, mode="r", offset=file.tell(), shape=stored_shape, order=order)  # type: ignore[call-overload, no-any-return]
    except FileNotFoundError:
        return None


def read_shape(path: Path) -> tuple[int, ...] | None:
    """Return the shape in an npy file's header, checked against the file size; None when there is no such file."""
    try:
        with reading(path), open_regular(path) as file:
            shape, _, dtype = _header(file)
            if os.fstat(file.fileno()).st_size - file.tell() < math.prod(shape) * dtype.itemsize:
                raise ValueError("it is cut off")
            return shape
    except FileNotFoundError:
        return None


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in an npz file."""
    with reading(path), open_regular(path) as file, zipfile.ZipFile(file) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def array_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in an npz file, by name."""
    with reading(path), open_regular(path) as file, zipfile.ZipFile(file) as archive:
        shapes = {}
        for name in archive.namelist():
            with archive.open(name) as part:
                shapes[name.removesuffix(".npy")] = _header(part)[0]
        return shapes


def read_arrays(
    path: Path,
    kinds: str = f"{NUMBERS}U",
    names: Collection[str] | None = None,
    check_shape: Callable[[tuple[int, ...]], object] = lambda shape: None,
) -> dict[str, np.ndarray]:
    """Read the arrays of an npz file.

    Args:
        path: The file.
        kinds: Allowed dtype kinds; text counts by default.
        names: Read only these arrays; all by default.
        check_shape: Called with the shape of each array before its numbers are unpacked; may raise UserError.

    Returns:
        The arrays by name.

    Raises:
        DamagedFileError: For an invalid file, or an array of another kind.
        FileNotFoundError: If there is no such file.
    """
    with reading(path), open_regular(path) as file, zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if names is not None:
            entries = [entry for entry in entries if entry.filename.removesuffix(".npy") in names]
        if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
            raise ValueError(f"it unpacks to more than {MAX_UNPACKED_BYTES / 1e9:g} GB")
        arrays = {}
        for entry in entries:
            with archive.open(entry) as part:
                shape, fortran, dtype = _header(part)
                check_array(path, shape, dtype, kinds, None)
                check_shape(shape)
                content = bytearray(part.read(math.prod(shape) * dtype.itemsize))
                part.read(1)  # at its end, the checksum is compared
            values = np.frombuffer(content, dtype, count=math.prod(shape))
            arrays[entry.filename.removesuffix(".npy")] = values.reshape(shape, order="F" if fortran else "C")
        return arrays


def take(path: Path, arrays: Mapping[str, np.ndarray], name: str, kinds: str = NUMBERS) -> np.ndarray:
    """Return `arrays[name]`, read from `path`; raise DamagedFileError if it is missing or of another dtype kind."""
    if name not in arrays:
        raise DamagedFileError(path, f"it holds no {name}")
    check_array(path, arrays[name].shape, arrays[name].dtype, kinds, None)
    return arrays[name]


def check_array(
    path: Path, stored_shape: tuple[int, ...], dtype: np.dtype, kinds: str, shape: tuple[int | None, ...] | None
) -> None:
    """Raise DamagedFileError unless an array of `stored_shape` is of these dtype kinds and of this shape."""
    if dtype.hasobject:
        raise DamagedFileError(
            path, "it holds pickled Python objects, which could run code: convert, as with astype(str)"
        )
    if dtype.kind not in kinds:
        raise DamagedFileError(path, f"it holds {dtype}, and should hold {'whole ' if kinds == WHOLE else ''}numbers")
    if shape is None:
        return
    if len(stored_shape) != len(shape) or any(
        count not in (None, length) for count, length in zip(shape, stored_shape, strict=True)
    ):
        expected = " × ".join("n" if length is None else str(length) for length in shape)
        received = " × ".join(map(str, stored_shape)) or "one number"
        raise DamagedFileError(path, f"it should be {expected}; got {received}")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read shape, column-major flag and dtype; leave the file position at the first number."""
    start = file.read(8)
    if len(start) < 8:
        raise ValueError("it is cut off" if start else "it is empty")
    if start[:6] != _MAGIC or start[6] not in (1, 2, 3):
        raise ValueError("it is no npy file")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(file.read(width), "little")
    if length > MAX_HEADER_BYTES:
        raise ValueError("its header is too long")
    header = file.read(length)
    match = _HEADER.fullmatch(header.decode("latin-1").rstrip("\n"))
    if len(header) == length and header.startswith(b"{'descr': ["):
        raise ValueError("it holds records of named fields, not numbers: save one array of numbers")
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


def _reason(error: BaseException) -> str:
    """Describe a read error in a few words."""
    if isinstance(
        error, zipfile.BadZipFile | zlib.error | struct.error | EOFError | RuntimeError | NotImplementedError
    ):
        return "it is cut off or changed"
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    text = " ".join(str(error).split())[:160]
    return "it is cut off" if "mmap length" in text or "buffer is smaller" in text else text or type(error).__name__
