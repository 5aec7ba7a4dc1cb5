"""Downloads of data sets: several mirrors, checksums, time limits, atomic files."""

import hashlib
import io
import os
import tempfile
import time
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO

from dmlviz.errors import DataUnavailableError
from dmlviz.storage.files import atomic_write

CHUNK = 1 << 16
MAX_UNPACKED_BYTES = 1 << 28  # bytes; the largest file of any source unpacks to 47 MB


@dataclass(frozen=True)
class RemoteFile:
    """A compressed file on the mirrors: its checksum, and its size in bytes, which may be approximate."""

    md5: str
    size: int
    is_approximate: bool = False

    @property
    def max_bytes(self) -> int:
        """The largest size at which it can still be this file."""
        return self.size + self.size // 4 if self.is_approximate else self.size


@dataclass(frozen=True)
class DatasetSource:
    """Where a data set is downloaded from.

    Attributes:
        folder: Target folder below the data root, laid out as torchvision does.
        mirrors: Base URLs, tried in order.
        files: Files, downloaded one by one as `<name>.gz`.
        archive: A zip with all files as `gzip/<name>.gz`, downloaded instead; its checksum covers them.
        parts: Prefixes of the names of training and test files.
    """

    folder: str
    mirrors: tuple[str, ...]
    files: Mapping[str, RemoteFile]
    archive: tuple[str, RemoteFile] | None = None
    parts: tuple[str, str] = ("train", "t10k")


SOURCES = {
    "mnist": DatasetSource(
        folder="MNIST/raw",
        mirrors=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        files={
            "train-images-idx3-ubyte": RemoteFile("f68b3c2dcbeaaa9fbdd348bbdeb94873", 9_912_422),
            "train-labels-idx1-ubyte": RemoteFile("d53e105ee54ea40749a09fcbcd1e9432", 28_881),
            "t10k-images-idx3-ubyte": RemoteFile("9fb629c4189551a2d022fa330f9573f3", 1_648_877),
            "t10k-labels-idx1-ubyte": RemoteFile("ec29112dd5afa0611ce80d1b7f02629c", 4_542),
        },
    ),
    "fashion_mnist": DatasetSource(
        folder="FashionMNIST/raw",
        mirrors=(
            "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        ),
        files={
            "train-images-idx3-ubyte": RemoteFile("8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26_421_880),
            "train-labels-idx1-ubyte": RemoteFile("25c81989df183df01b3e8a0aad5dffbe", 29_515),
            "t10k-images-idx3-ubyte": RemoteFile("bef4ecab320f06d8554ea6380940ec79", 4_422_102),
            "t10k-labels-idx1-ubyte": RemoteFile("bb300cfdad3c16e7a12a480ee83cd310", 5_148),
        },
    ),
    "kmnist": DatasetSource(
        folder="KMNIST/raw",
        mirrors=("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
        files={
            "train-images-idx3-ubyte": RemoteFile("bdb82020997e1d708af4cf47b453dcf7", 18_200_000, is_approximate=True),
            "train-labels-idx1-ubyte": RemoteFile("e144d726b3acfaa3e44228e80efcd344", 30_000, is_approximate=True),
            "t10k-images-idx3-ubyte": RemoteFile("5c965bf0a639b31b8f53240b1b52f4d7", 3_050_000, is_approximate=True),
            "t10k-labels-idx1-ubyte": RemoteFile("7320c461ea6c1c855c0b718fb2a4b134", 5_200, is_approximate=True),
        },
    ),
    "emnist_letters": DatasetSource(
        folder="EMNIST/raw",
        mirrors=("https://biometrics.nist.gov/cs_links/EMNIST/",),
        files={
            f"emnist-letters-{part}-{kind}": RemoteFile("", 0)
            for part in ("train", "test")
            for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")
        },
        archive=("gzip.zip", RemoteFile("58c8d27c78d21e728a6bc7b3cc06412e", 562_000_000, is_approximate=True)),
        parts=("emnist-letters-train", "emnist-letters-test"),
    ),
}


def download_dataset(
    source: DatasetSource,
    folder: Path,
    names: Iterable[str],
    progress: Callable[[int, int], object] | None = None,
    *,
    timeout: float = 15.0,
) -> None:
    """Download and unpack files.

    Args:
        source: Where they come from.
        folder: Where they go.
        names: Names of the files.
        progress: Called with the bytes done, and the bytes in all.
        timeout: Seconds to wait for a connection, and for more data.

    Raises:
        DataUnavailableError: If a file cannot be downloaded or written.
    """
    report = progress or (lambda done, total: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if source.archive is None:
            _download_files(source, folder, {name: source.files[name] for name in names}, report, timeout)
        else:
            _from_archive(source, folder, names, report, timeout)
    except OSError as error:
        raise DataUnavailableError(
            f"{folder} cannot be written ({error.strerror or error}): choose another folder with --data or DMLVIZ_DATA."
        ) from None


def _download_files(
    source: DatasetSource,
    folder: Path,
    remote_files: Mapping[str, RemoteFile],
    report: Callable[[int, int], object],
    timeout: float,
) -> None:
    total, done = sum(remote.size for remote in remote_files.values()), 0
    for name, remote in remote_files.items():
        start, buffer = done, io.BytesIO()
        _download(source, f"{name}.gz", remote, buffer, lambda n, start=start: report(start + n, total), timeout)  # type: ignore[misc]
        _write(folder / name, _unpack(buffer.getvalue(), name))
        done += remote.size
        report(done, total)


def _from_archive(
    source: DatasetSource, folder: Path, names: Iterable[str], report: Callable[[int, int], object], timeout: float
) -> None:
    """Download the archive (half a gigabyte) to a temporary file on disk, and unpack the named files."""
    assert source.archive is not None
    name, remote = source.archive
    with tempfile.TemporaryFile(dir=folder) as file:
        _download(source, name, remote, file, lambda done: report(min(done, remote.size - 1), remote.size), timeout)
        try:
            with zipfile.ZipFile(file) as archive:
                for file_name in names:
                    _write(folder / file_name, _unpack(archive.read(f"gzip/{file_name}.gz"), file_name))
        except (zipfile.BadZipFile, KeyError, zlib.error) as error:
            raise DataUnavailableError(f"{name} does not hold what it should ({error}).") from None
    report(remote.size, remote.size)


def _download(
    source: DatasetSource,
    name: str,
    remote: RemoteFile,
    file: IO[bytes],
    report: Callable[[int], object],
    timeout: float,
) -> None:
    """Download a file from the first mirror that works; raise DataUnavailableError with every mirror's error."""
    errors = []
    for mirror in source.mirrors:
        try:
            return _download_from(f"{mirror}{name}", remote, file, report, timeout)
        except _DiskWriteError as error:
            raise error.cause from None
        except (OSError, HTTPException, ValueError) as error:
            host = mirror.split("/")[2]
            cause = getattr(error, "reason", None) or error
            errors.append(f"{host}: {getattr(cause, 'strerror', None) or cause}")
    raise DataUnavailableError(f"{name} could not be fetched ({'; '.join(errors)}).")


class _DiskWriteError(Exception):
    """A failure of the disk, not of the mirror."""

    def __init__(self, cause: OSError) -> None:
        self.cause = cause


def _download_from(
    url: str, remote: RemoteFile, file: IO[bytes], report: Callable[[int], object], timeout: float
) -> None:
    """Download and verify a file; raise ValueError for wrong content, OSError for network errors."""
    size = 0
    file.seek(0)
    file.truncate()
    digest = hashlib.md5(usedforsecurity=False)
    request = urllib.request.Request(url, headers={"User-Agent": "dmlviz"})
    deadline = time.monotonic() + timeout
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        while chunk := answer.read1(CHUNK):
            size += len(chunk)
            if size > remote.max_bytes:
                raise ValueError(f"the file is larger than {remote.max_bytes:,} bytes")
            digest.update(chunk)
            try:
                file.write(chunk)
            except OSError as error:
                raise _DiskWriteError(error) from None
            report(size)
            # A mirror that sends one byte a second passes every socket timeout: require 10 kB/s on average.
            if time.monotonic() > deadline + size / 10_000:
                raise ValueError("the mirror is too slow")
    if digest.hexdigest() != remote.md5:
        raise ValueError(f"the checksum is wrong ({size:,} of {remote.size:,} bytes came)")


def _unpack(data: bytes, name: str) -> bytes:
    """Unpack gzip; the checksum was verified, so a failure here means a wrong entry in SOURCES."""
    try:
        content = zlib.decompressobj(wbits=31).decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise DataUnavailableError(f"{name}.gz is not gzip ({error}).") from None
    return content


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically, also with concurrent downloads or a power failure."""
    with atomic_write(path) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
