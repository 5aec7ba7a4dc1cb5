"""Downloads a data set: mirrors in turn, checksums, a time limit, and never a half-written file."""

import contextlib
import hashlib
import os
import tempfile
import time
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from dmlviz.errors import DataUnavailable

CHUNK = 1 << 16
MOST_UNPACKED = 1 << 28  # bytes; the largest file of any source unpacks to 47 MB


@dataclass(frozen=True)
class Remote:
    """A file as its mirrors hold it, gzip-compressed: its checksum and its size in bytes."""

    md5: str
    size: int


@dataclass(frozen=True)
class Source:
    """Where a data set comes from; `folder` is where it goes, below the data root, as torchvision lays it out."""

    folder: str
    mirrors: tuple[str, ...]
    files: Mapping[str, Remote]


SOURCES = {
    "mnist": Source(
        folder="MNIST/raw",
        mirrors=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        files={
            "train-images-idx3-ubyte": Remote("f68b3c2dcbeaaa9fbdd348bbdeb94873", 9_912_422),
            "train-labels-idx1-ubyte": Remote("d53e105ee54ea40749a09fcbcd1e9432", 28_881),
            "t10k-images-idx3-ubyte": Remote("9fb629c4189551a2d022fa330f9573f3", 1_648_877),
            "t10k-labels-idx1-ubyte": Remote("ec29112dd5afa0611ce80d1b7f02629c", 4_542),
        },
    ),
    "fashion_mnist": Source(
        folder="FashionMNIST/raw",
        mirrors=(
            "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        ),
        files={
            "train-images-idx3-ubyte": Remote("8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26_421_880),
            "train-labels-idx1-ubyte": Remote("25c81989df183df01b3e8a0aad5dffbe", 29_515),
            "t10k-images-idx3-ubyte": Remote("bef4ecab320f06d8554ea6380940ec79", 4_422_102),
            "t10k-labels-idx1-ubyte": Remote("bb300cfdad3c16e7a12a480ee83cd310", 5_148),
        },
    ),
}


def fetch(
    source: Source,
    folder: Path,
    names: Iterable[str],
    progress: Callable[[int, int], object] | None = None,
    *,
    timeout: float = 15.0,
) -> None:
    """Put the named files of `source`, unpacked, into `folder`; raise DataUnavailable with a sentence if one fails.

    `timeout` is in seconds, for each connection and each silence. `progress` hears bytes so far and bytes in all.
    """
    wanted = {name: source.files[name] for name in names}
    total, done = sum(remote.size for remote in wanted.values()), 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, remote in wanted.items():
            start = done

            def report(bytes_of_file: int, start: int = start) -> None:
                if progress is not None:
                    progress(start + bytes_of_file, total)

            _write(folder / name, _unpack(_download(source, name, remote, report, timeout), name))
            done += remote.size
            report(remote.size)
    except OSError as error:
        raise DataUnavailable(
            f"{folder} cannot be written ({error.strerror or error}): choose another folder with --data or DMLVIZ_DATA."
        ) from None


def _download(source: Source, name: str, remote: Remote, report: Callable[[int], object], timeout: float) -> bytes:
    complaints = []
    for mirror in source.mirrors:
        try:
            return _from_mirror(f"{mirror}{name}.gz", remote, report, timeout)
        except (OSError, HTTPException, ValueError) as error:
            host = mirror.split("/")[2]
            cause = getattr(error, "reason", None) or error
            complaints.append(f"{host}: {getattr(cause, 'strerror', None) or cause}")
    raise DataUnavailable(f"{name}.gz could not be fetched ({'; '.join(complaints)}).")


def _from_mirror(url: str, remote: Remote, report: Callable[[int], object], timeout: float) -> bytes:
    """Return the checked bytes; raise ValueError where they are not the announced ones, OSError without a network."""
    chunks, size = [], 0
    digest = hashlib.md5(usedforsecurity=False)
    request = urllib.request.Request(url, headers={"User-Agent": "dmlviz"})
    deadline = time.monotonic() + timeout
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        while chunk := answer.read1(CHUNK):
            size += len(chunk)
            if size > remote.size:
                raise ValueError(f"the file is larger than {remote.size:,} bytes")
            digest.update(chunk)
            chunks.append(chunk)
            report(size)
            # A mirror that drips one byte a second passes every socket timeout: ask for 10 kB/s on average.
            if time.monotonic() > deadline + size / 10_000:
                raise ValueError("the mirror is too slow")
    if digest.hexdigest() != remote.md5:
        raise ValueError(f"the checksum is wrong ({size:,} of {remote.size:,} bytes came)")
    return b"".join(chunks)


def _unpack(data: bytes, name: str) -> bytes:
    """Unpack gzip; the checksum has vouched for `data`, so a failure here is a wrong entry in SOURCES."""
    try:
        unpacked = zlib.decompressobj(wbits=31).decompress(data, MOST_UNPACKED)
    except zlib.error as error:
        raise DataUnavailable(f"{name}.gz is not gzip ({error}).") from None
    return unpacked


def _write(path: Path, data: bytes) -> None:
    """Write beside, then rename: a reader sees the whole file or none, also when two processes fetch at once."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
