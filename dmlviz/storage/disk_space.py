"""Turn a full disk into an error of one sentence, and leave no half-made folder."""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dmlviz.errors import DiskFullError

NEW_PREFIX = ".new-"  # of folders that are being made, beside their later place
STALE_S = 3600.0  # age at which such a folder is abandoned: its process was killed


@contextmanager
def writing(folder: Path, needed: int = 0) -> Iterator[None]:
    """Raise DiskFullError where the block finds the disk of a folder full, or a quota on it; other errors pass.

    Args:
        folder: Target of the block's writes.
        needed: Bytes that it is to write, if known.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, DiskFullError) or not is_disk_full(error):
            raise
        raise disk_full(folder, needed) from None


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error says that a disk, or a quota on it, is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def disk_full(folder: Path, needed: int = 0) -> DiskFullError:
    """Return the error that says how much room is left on the disk of a folder."""
    existing = next((path for path in (folder, *folder.absolute().parents) if path.is_dir()), Path("/"))
    try:
        free = shutil.disk_usage(existing).free
    except OSError:
        free = 0
    return DiskFullError(str(existing.absolute()), free, needed)


def disk_full_of(error: OSError, *folders: Path) -> DiskFullError:
    """Return the error of the disk that a system's error means, which often names no file.

    Args:
        error: The error, as `is_disk_full` knows it.
        folders: Folders that may have been written to, besides this one and the temporary one.
    """
    if error.filename:
        return disk_full(Path(os.fsdecode(error.filename)))
    found = [disk_full(folder) for folder in (*folders, Path(tempfile.gettempdir()), Path.cwd())]
    return min(found, key=lambda full: full.free)


@contextmanager
def new_folder(parent: Path) -> Iterator[Path]:
    """Make a folder inside `parent`, which is removed when the block ends unless the block has renamed it.

    Raises:
        DiskFullError: If the disk becomes full in the block.
    """
    with writing(parent):
        new = Path(tempfile.mkdtemp(prefix=NEW_PREFIX, dir=parent))
        try:
            new.chmod(0o755)
            yield new
        finally:
            shutil.rmtree(new, ignore_errors=True)


def remove_stale_folders(parent: Path, pattern: str = f"{NEW_PREFIX}*", age: float = STALE_S) -> None:
    """Remove the folders that no process has changed for `age` seconds: processes left them that were killed."""
    for folder in parent.glob(pattern):
        with suppress(OSError):
            if time.time() - folder.lstat().st_mtime > age:
                shutil.rmtree(folder, ignore_errors=True)
