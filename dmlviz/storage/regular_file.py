"""Regular files only: a link is not followed; a pipe, a socket, a device or a folder is neither read nor waited for.

A program that writes into a folder of runs, or damages it, could otherwise make a server wait for good (a named pipe
that no program writes to) or read what lies elsewhere (a link). Folders may be links: a run folder may lie on another
disk.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from operator import or_
from pathlib import Path
from typing import IO

from dmlviz.errors import READ_ONLY, DamagedFileError

# Windows has only the last of these.
_FLAGS = reduce(or_, (getattr(os, f"O_{name}", 0) for name in ("NOFOLLOW", "NONBLOCK", "CLOEXEC", "BINARY")))
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


def open_regular(path: Path, mode: str = "rb") -> IO[bytes]:
    """Open a regular file at once.

    Args:
        path: The file.
        mode: "rb" to read; "ab+" to read and append, which makes the file where there is none.

    Returns:
        The open file.

    Raises:
        DamagedFileError: For anything but a regular file, and for one that cannot be opened.
        FileNotFoundError: If there is no such file, or with "ab+" no such folder.
    """
    flags = os.O_RDONLY if mode == "rb" else os.O_RDWR | os.O_APPEND | os.O_CREAT
    try:
        descriptor = os.open(path, flags | _FLAGS, 0o666)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        is_locked = mode != "rb" and error.errno in (errno.EROFS, errno.EACCES)
        raise DamagedFileError(path, READ_ONLY if is_locked else _reason(path, error)) from None
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise DamagedFileError(path, f"it is {_KINDS.get(kind, 'no file')}, and should be a file")
    return os.fdopen(descriptor, mode)


@contextmanager
def regular_path(path: Path) -> Iterator[str]:
    """Open a regular file as `open_regular`, for a library that opens files itself: a name of what is open."""
    with open_regular(path) as file:
        yield f"/dev/fd/{file.fileno()}" if sys.platform != "win32" else str(path)


def _reason(path: Path, error: OSError) -> str:
    try:
        kind = stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        kind = stat.S_IFREG
    if kind != stat.S_IFREG:
        return f"it is {_KINDS.get(kind, 'no file')}, and should be a file"
    return (error.strerror or type(error).__name__).lower()
