"""Files of the cache folder: what a route makes once, and keeps where the disk takes it."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from dmlviz.errors import DamagedFileError
from dmlviz.storage.files import atomic_write
from dmlviz.storage.regular_file import open_regular


def cached_file(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return the content of a file of the cache; made and kept where it is not there.

    Args:
        path: The file.
        make: Makes its content. On a full disk, or one that can only be read, it is called each time.
    """
    with contextlib.suppress(FileNotFoundError, DamagedFileError), open_regular(path) as file:
        return file.read()
    content = make()
    keep_file(path, content)
    return content


def keep_file(path: Path, content: bytes) -> None:
    """Write a file of the cache, if the disk takes it."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, len(content)) as file:
            file.write(content)
