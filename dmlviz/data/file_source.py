"""The files of a folder or of a zip, one after the other; nothing is ever written where a zip says."""

import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dmlviz.errors import UserError

MAX_FILES = 100_000
MAX_BYTES = 20 * 1024**2  # of one file
MAX_UNPACKED = 4 * 1024**3  # of all together


@dataclass(frozen=True)
class Entry:
    """A file by the parts of its path below the top; `read` gives its bytes; `trouble` says why it cannot be taken."""

    parts: tuple[str, ...]
    size: int
    read: Callable[[], bytes]
    error: str = ""

    @property
    def name(self) -> str:
        return "/".join(self.parts)


@contextmanager
def iter_files(path: Path) -> Iterator[list[Entry]]:
    """Every file in a folder or zip, sorted by path; hidden ones and those of the system are passed over.

    Raise UserError where there is no such thing, too much of it, or a zip that is damaged.
    """
    if path.is_dir():
        found = list(_dir_entries(path))
        _check(path.name, len(found), sum(entry.size for entry in found))
        yield sorted(found, key=lambda entry: entry.parts)
        return
    if not path.is_file():
        raise UserError(f"There is no folder and no zip {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check(path.name, len(members), sum(member.file_size for member in members))
            found = [_zip_entry(archive, member) for member in members if not member.is_dir()]
            yield sorted((entry for entry in found if not _hidden(entry.parts)), key=lambda entry: entry.parts)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise UserError(f"{path.name} is not a zip that can be read ({error}); pack the folder again.") from None


def _check(name: str, files: int, size: int) -> None:
    if files > MAX_FILES:
        raise UserError(f"{name} holds {files:,} files; up to {MAX_FILES:,} can be taken: leave some out.")
    if size > MAX_UNPACKED:
        raise UserError(
            f"{name} unpacks to {size / 1024**3:.1f} GB; up to {MAX_UNPACKED / 1024**3:.0f} GB can be taken: "
            "leave some out."
        )


def _dir_entries(top: Path) -> Iterator[Entry]:
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not _hidden((name,)))
        for name in files:
            path = Path(folder) / name
            parts = path.relative_to(top).parts
            if _hidden(parts):
                continue
            try:
                inside = path.resolve().is_relative_to(top.resolve()) and path.is_file()
                size = path.stat().st_size if inside else 0
            except OSError:
                inside, size = False, 0
            trouble = "" if inside else "a link that leads out of the folder, or nowhere"
            yield Entry(parts, size, path.read_bytes, trouble or _too_large(size))


def _zip_entry(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Entry:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    parts = tuple(part for part in path.parts if part not in ("/", "."))
    trouble = _too_large(member.file_size)
    if ".." in parts or path.is_absolute() or not parts:
        trouble = "a name that leads out of the zip"
    elif stat.S_ISLNK(member.external_attr >> 16):
        trouble = "a link instead of a file"
    elif member.flag_bits & 1:
        trouble = "locked with a password"
    # zipfile reads no more than the announced size, so that the check above holds for what comes out.
    return Entry(parts, member.file_size, lambda: archive.read(member), trouble)


def _too_large(size: int) -> str:
    return f"larger than {MAX_BYTES // 1024**2} MB" if size > MAX_BYTES else ""


def _hidden(parts: tuple[str, ...]) -> bool:
    return any((part.startswith(".") and part != "..") or part in ("__MACOSX", "Thumbs.db") for part in parts)
