"""Archives that come with the program: unpacked on first use into the user's cache, and read there."""

import atexit
import os
import shutil
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from zipfile import BadZipFile, ZipFile, ZipInfo

from dmlviz.errors import UserError
from dmlviz.storage.disk_space import new_folder, remove_stale_folders
from dmlviz.storage.paths import cache_dir

CHUNK = 1 << 20
UNUSED_S = 30 * 86_400.0  # after which what another version of the program unpacked is removed


@cache
def unpacked(*archives: Path) -> Path:
    """Return the folder of the cache that holds the content of these archives, a folder for each, named as it is.

    The folder is named by the content: it is made once, and another version of the program makes its own. If nothing
    can be written in the cache, it is a temporary folder of this process.

    Args:
        archives: Zip files that come with the program: nothing in them is validated.

    Returns:
        The folder. It is only read.

    Raises:
        UserError: If an archive is damaged, or no folder can be written.
    """
    folder = cache_dir() / "unpacked"
    try:
        name = _content_id(archives)
        with suppress(OSError):
            return _unpack(archives, folder, name)
        temporary = Path(mkdtemp(prefix="dmlviz-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return _unpack(archives, temporary, name)
    except BadZipFile as error:
        raise UserError(f"A file of dmlviz is damaged ({error}): install dmlviz again.") from None
    except OSError as error:
        raise UserError(
            f"What comes with dmlviz can be unpacked neither in {folder} nor in a temporary folder ({error.strerror}): "
            "make room there, or name another cache folder in XDG_CACHE_HOME."
        ) from None


def _content_id(archives: tuple[Path, ...]) -> str:
    """Return a hash of names and checksums, which a zip lists: no need to read its files each time."""
    entries: list[tuple[str, str, int]] = []
    for path in archives:
        with ZipFile(path) as archive:
            entries += [(path.stem, entry.filename, entry.CRC) for entry in archive.infolist()]
    return sha256(repr(entries).encode()).hexdigest()[:16]


def _unpack(archives: tuple[Path, ...], parent: Path, name: str) -> Path:
    folder = parent / name
    if folder.is_dir():
        with suppress(OSError):  # a folder of another user
            os.utime(folder)
        return folder
    parent.mkdir(parents=True, exist_ok=True)
    with new_folder(parent) as new:
        for path in archives:
            with ZipFile(path) as archive:
                for entry in archive.infolist():
                    unpack_entry(archive, entry, new / path.stem / entry.filename, entry.file_size)
        try:
            new.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise
    remove_stale_folders(parent, "*", UNUSED_S)
    return folder


def unpack_entry(archive: ZipFile, entry: ZipInfo, path: Path, max_bytes: int) -> int | None:
    """Unpack one file, ignoring the size in its header; return the number of bytes, None for more than `max_bytes`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with archive.open(entry) as source, open(path, "wb") as target:
        while part := source.read(CHUNK):
            size += len(part)
            if size > max_bytes:
                return None
            target.write(part)
    return size
