"""Files of a folder or zip, read in memory; zip entries are never extracted to disk."""

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dmlviz.data.zip_directory import count_entries
from dmlviz.errors import UserError

MAX_FILES = 100_000
MAX_BYTES = 20 * 1024**2  # of one file
MAX_UNPACKED = 4 * 1024**3  # of all together


TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

Folder = Path | zipfile.Path  # or a file in it


@dataclass(frozen=True)
class Entry:
    """A file of a folder or zip.

    Attributes:
        parts: Parts of its path, relative to the top.
        size: Bytes.
        read: Returns its content.
        error: The reason why it cannot be used; empty if it can.
    """

    parts: tuple[str, ...]
    size: int
    read: Callable[[], bytes]
    error: str = ""

    @property
    def name(self) -> str:
        """The path, joined by slashes."""
        return "/".join(self.parts)


@contextmanager
def iter_files(path: Path) -> Iterator[list[Entry]]:
    """List the files of a folder or zip by path, without hidden and system files.

    Raises:
        UserError: If it does not exist, is too large, or is a damaged zip.
    """
    if path.is_dir():
        entries = list(_dir_entries(path))
        _check(path.name, len(entries), sum(entry.size for entry in entries))
        yield sorted(entries, key=lambda entry: entry.parts)
        return
    if not path.is_file():
        raise UserError(f"There is no folder or zip {path}: check the path.")
    _check(path.name, count_entries(path, MAX_FILES), 0)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check(path.name, len(members), sum(member.file_size for member in members))
            entries = [_zip_entry(archive, member) for member in members if not member.is_dir()]
            yield sorted((entry for entry in entries if not _is_hidden(entry.parts)), key=lambda entry: entry.parts)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise UserError(f"{path.name} is not a zip, or it is damaged ({error}): zip the folder again.") from None


@contextmanager
def open_folder(path: Path) -> Iterator[Folder]:
    """Open a folder, or a zip as if it were one.

    Raises:
        UserError: If it is a damaged zip, or a tar, whose files cannot be read one by one.
    """
    if path.name.lower().endswith(TARS):
        raise UserError(f"Folders and zips are read; {path.name} is a tar: unpack it first, as with tar -xf.")
    if not path.is_file():
        yield path
        return
    _check(path.name, count_entries(path, MAX_FILES), 0)
    try:
        with zipfile.ZipFile(path) as archive:
            yield zipfile.Path(archive)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise UserError(f"{path.name} is not a zip, or it is damaged ({error}): zip the folder again.") from None


def exists(path: Folder) -> bool:
    """Return whether there is such a file or folder."""
    return path.is_file() or path.is_dir()


def read_file(path: Folder) -> bytes:
    """Return the content of a file; raise UserError if it is too large or damaged, OSError if it is not there."""
    if isinstance(path, zipfile.Path):
        try:
            size = path.root.getinfo(path.at).file_size
        except KeyError:
            raise FileNotFoundError(path.name) from None
    else:
        size = path.stat().st_size
    if size > MAX_BYTES:
        raise UserError(_too_large(size))
    try:
        return path.read_bytes()
    except (RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error):  # a password, a method, damage
        raise UserError("cannot be read") from None


def subfolders(folder: Folder) -> list[Folder]:
    """Return the folders in a folder, without hidden and system ones."""
    return [path for path in folder.iterdir() if path.is_dir() and not _is_hidden((path.name,))]


def _check(name: str, files: int, size: int) -> None:
    if files > MAX_FILES:
        raise UserError(f"A data set has up to {MAX_FILES:,} files; {name} holds more: leave some out.")
    if size > MAX_UNPACKED:
        raise UserError(
            f"A data set has up to {MAX_UNPACKED / 1024**3:.0f} GB; {name} unpacks to {size / 1024**3:.1f} GB: "
            "leave some files out."
        )


def _dir_entries(top: Path) -> Iterator[Entry]:
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not _is_hidden((name,)))
        for name in files:
            path = Path(folder) / name
            parts = path.relative_to(top).parts
            if _is_hidden(parts):
                continue
            try:
                inside = path.resolve().is_relative_to(top.resolve()) and path.is_file()
                size = path.stat().st_size if inside else 0
            except OSError:
                inside, size = False, 0
            error = "" if inside else "a link that leads out of the folder, or nowhere"
            yield Entry(parts, size, path.read_bytes, error or _too_large(size))


def _zip_entry(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Entry:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    parts = tuple(part for part in path.parts if part not in ("/", "."))
    error = _too_large(member.file_size)
    if ".." in parts or path.is_absolute() or not parts:
        error = "a name that leads out of the zip"
    elif stat.S_ISLNK(member.external_attr >> 16):
        error = "a link instead of a file"
    elif member.flag_bits & 1:
        error = "locked with a password"
    # zipfile reads no more than the announced size, so that the check of the size holds for the content.
    return Entry(parts, member.file_size, lambda: archive.read(member), error)


def _too_large(size: int) -> str:
    return f"larger than {MAX_BYTES // 1024**2} MB" if size > MAX_BYTES else ""


def _is_hidden(parts: tuple[str, ...]) -> bool:
    return any((part.startswith(".") and part != "..") or part in ("__MACOSX", "Thumbs.db") for part in parts)
