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
from http.client import HTTPException
from pathlib import Path
from typing import IO

from dmlviz.catalog.dataset_sources import DatasetSource, RemoteFile
from dmlviz.errors import DataUnavailableError
from dmlviz.storage.disk_space import disk_full, is_disk_full
from dmlviz.storage.files import atomic_write

CHUNK = 1 << 16
MAX_UNPACKED_BYTES = 1 << 28  # bytes; the largest file of any source unpacks to 47 MB


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
        source: The download source.
        folder: Target folder.
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
        if is_disk_full(error):
            raise disk_full(folder) from None
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
            raise DataUnavailableError(
                f"{name} has the right checksum but not the expected files ({error}): correct its entry in SOURCES."
            ) from None
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
    raise DataUnavailableError(
        f"{name} could not be downloaded ({'; '.join(errors)}): try again later, or check the connection."
    )


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
        raise ValueError(f"the checksum is wrong ({size:,} of {remote.size:,} bytes received)")


def _unpack(data: bytes, name: str) -> bytes:
    """Unpack gzip; the checksum was verified, so a failure means a wrong entry in SOURCES."""
    try:
        content = zlib.decompressobj(wbits=31).decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise DataUnavailableError(
            f"{name}.gz has the right checksum but is not gzip ({error}): correct its entry in SOURCES."
        ) from None
    return content


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically, also with concurrent downloads or a power failure."""
    with atomic_write(path) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
