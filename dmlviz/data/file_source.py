"""Files of a folder or zip, read in memory; zip entries are never extracted to disk."""

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from dmlviz.errors import UserError
from dmlviz.storage.text import counted

_END, _END_LENGTH = b"PK\x05\x06", 22
_END_64, _END_64_LENGTH = b"PK\x06\x06", 56
_LOCATOR_LENGTH = 20  # of the record between the two
_ENTRY, _ENTRY_LENGTH = b"PK\x01\x02", 46
_MAX_COMMENT = 1 << 16


def count_entries(path: Path, limit: int) -> int:
    """Return the number of entries in a zip's central directory, counted up to limit + 1; 0 where none is found.

    The number that the end of the file claims is not trusted: a reader of the zip goes through all entries, too.

    Args:
        path: The file.
        limit: Largest count.

    Examples:
        >>> count_entries(Path("/dev/null"), 10)
        0
    """
    with open(path, "rb") as file:
        return entries_in(file, limit)


def entries_in(file: IO[bytes], limit: int) -> int:
    """Return what `count_entries` does, of an open file that can be read at any place."""
    length = file.seek(0, 2)
    tail_start = max(0, length - _END_LENGTH - _MAX_COMMENT - _LOCATOR_LENGTH - _END_64_LENGTH)
    file.seek(tail_start)
    tail = file.read()
    end = tail.rfind(_END)
    if end < 0 or len(tail) < end + _END_LENGTH:
        return 0
    size = struct.unpack_from("<L", tail, end + 12)[0]
    end_64 = end - _LOCATOR_LENGTH - _END_64_LENGTH
    if end_64 >= 0 and tail[end_64 : end_64 + 4] == _END_64:
        size, end = struct.unpack_from("<Q", tail, end_64 + 40)[0], end_64
    start = tail_start + end - size
    if start < 0:
        return 0
    file.seek(start)
    directory = file.read(min(size, (limit + 1) * (_ENTRY_LENGTH + 3 * 0xFFFF)))
    count, at = 0, 0
    while count <= limit and directory[at : at + 4] == _ENTRY and len(directory) >= at + _ENTRY_LENGTH:
        count += 1
        at += _ENTRY_LENGTH + sum(struct.unpack_from("<3H", directory, at + 28))
    return count


MAX_FILES = 100_000
MAX_BYTES = 20 * 1024**2  # of one file
MAX_UNPACKED = 4 * 1024**3  # of all together
_HIDDEN = re.compile(
    r"""\..* | __MACOSX | Icon\r | (ehthumbs|thumbs).*\.db | desktop\.ini | folder\.htt | ZbThumbnail\.info  # desktops
    | @eaDir | @Recycle | @Recently-Snapshot | @tmp | \#(recycle|snapshot) | SYNO(FILE|PHOTO)_THUMB.*  # NAS
    | \$RECYCLE\.BIN | System\ Volume\ Information | lost\+found | Network\ Trash\ Folder | Temporary\ Items
    | __pycache__ | node_modules""",
    re.VERBOSE | re.IGNORECASE,
)


TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

_UTF_8 = 0x800  # flag of a member whose name is in UTF-8

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


class Files(list[Entry]):
    """The files of a folder or zip by path; `notes` are sentences on what was not listed, or may read wrong."""

    notes: tuple[str, ...] = ()


@contextmanager
def iter_files(path: Path) -> Iterator[Files]:
    """List the files of a folder or zip by path, without hidden and system files.

    Raises:
        UserError: If it does not exist, is too large, or is a damaged zip.
    """
    if path.is_dir():
        hidden: set[str] = set()
        empty: set[str] = set()
        entries = list(_dir_entries(path, hidden, empty))
        _check(path.name, len(entries), sum(entry.size for entry in entries))
        yield _files(entries, hidden, empty)
        return
    if not path.is_file():
        raise UserError(f"There is no folder or zip {path}: check the path.")
    with _open_zip(path) as (archive, guessed):
        members = archive.infolist()
        _check(path.name, len(members), sum(member.file_size for member in members))
        entries = [_zip_entry(archive, member) for member in members if not member.is_dir()]
        full = {parent.as_posix() for member in members for parent in PurePosixPath(member.filename).parents}
        empty = {member.filename.rstrip("/") for member in members if member.is_dir()} - full
        yield _files(
            [entry for entry in entries if not hidden_part(entry.parts)],
            {part for part in (hidden_part(entry.parts) for entry in entries) if part},
            {name for name in empty if not hidden_part(PurePosixPath(name).parts)},
            guessed,
        )


def _files(entries: list[Entry], hidden: set[str], empty: set[str], guessed: str = "") -> Files:
    files = Files(sorted(entries, key=lambda entry: entry.parts))
    said = {"Hidden files and those of a system were not read": hidden, "Folders with nothing in them": empty}
    for sentence, found in said.items():
        names = sorted(found)
        others = f" and {counted(len(names) - 3, 'other')}" if len(names) > 3 else ""
        if names:
            files.notes += (f"{sentence}: {', '.join(names[:3])}{others}.".replace("\r", ""),)
    if guessed:
        files.notes += (
            f"The zip does not say how its names are written; {guessed} was read as of Western Windows. If it reads "
            "wrong, rename the folders, or zip them with a program that writes UTF-8.",
        )
    return files


@contextmanager
def _open_zip(path: Path) -> Iterator[tuple[zipfile.ZipFile, str]]:
    """Open a zip with its names corrected; with it comes a name whose letters are a guess, or nothing."""
    _check(path.name, count_entries(path, MAX_FILES), 0)
    try:
        with zipfile.ZipFile(path) as archive:
            guessed = ""
            for member in archive.infolist():
                name, is_guess = _name_in_zip(member)
                guessed = guessed or (name if is_guess else "")
                member.filename = name
                archive.NameToInfo[name] = member
            yield archive, guessed
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise UserError(f"{path.name} is not a zip, or it is damaged ({error}): zip the folder again.") from None


def _name_in_zip(member: zipfile.ZipInfo) -> tuple[str, bool]:
    """Return the name of a file in a zip with slashes, and whether its letters are a guess.

    Without a flag for UTF-8 they are in code page 437 by the format, but macOS writes UTF-8 there, and others write a
    field of their own.
    """
    name, is_guess = member.filename, False
    if not member.flag_bits & _UTF_8:
        raw = member.orig_filename.encode("cp437")
        try:
            name = (_unicode_path(member.extra, raw) or raw).decode()
        except UnicodeDecodeError:
            is_guess = True
    return (name if "/" in name else name.replace("\\", "/")), is_guess  # some programs of Windows write backslashes


def _unicode_path(extra: bytes, raw: bytes) -> bytes | None:
    """Return the name in a member's extra field for it (0x7075 of Info-ZIP), if it is that of the name `raw`."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        if kind == 0x7075 and length > 5 and struct.unpack_from("<L", extra, 5)[0] == zlib.crc32(raw):
            return extra[9 : 4 + length]
        extra = extra[4 + length :]
    return None


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
    with _open_zip(path) as (archive, _):
        yield zipfile.Path(archive)


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
    return [path for path in folder.iterdir() if path.is_dir() and not hidden_part((path.name,))]


def _check(name: str, files: int, size: int) -> None:
    if files > MAX_FILES:
        raise UserError(f"A data set has up to {MAX_FILES:,} files; {name} holds more: leave some out.")
    if size > MAX_UNPACKED:
        raise UserError(
            f"A data set has up to {MAX_UNPACKED / 1024**3:.0f} GB; {name} unpacks to {size / 1024**3:.1f} GB: "
            "leave some files out."
        )


def _dir_entries(top: Path, hidden: set[str], empty: set[str]) -> Iterator[Entry]:
    for folder, folders, files in os.walk(top):
        hidden |= {name for name in (*folders, *files) if hidden_part((name,))}
        if not folders and not files:
            empty.add(Path(folder).relative_to(top).as_posix())
        folders[:] = sorted(name for name in folders if not hidden_part((name,)))
        for name in (*files, *(name for name in folders if (Path(folder) / name).is_symlink())):
            path = Path(folder) / name
            parts = path.relative_to(top).parts
            if hidden_part(parts):
                continue
            try:
                inside = path.resolve().is_relative_to(top.resolve()) and path.is_file()
                size = path.stat().st_size if inside else 0
            except OSError:
                inside, size = False, 0
            error = "" if inside else "a link to a folder, out of this one or nowhere: cp -rL copies what it leads to"
            yield Entry(parts, size, path.read_bytes, error or _too_large(size))


def _zip_entry(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Entry:
    path = PurePosixPath(member.filename)
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


def hidden_part(parts: tuple[str, ...]) -> str:
    """Return the part of a path that is hidden or a system's; empty for none."""
    return next((part for part in parts if part != ".." and _HIDDEN.fullmatch(part)), "")
