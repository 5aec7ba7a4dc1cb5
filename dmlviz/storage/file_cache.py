"""Values that are read from files, kept until the files change."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

MAX_KEPT = 1024


class HasPath(Protocol):
    """Something with a folder."""

    path: Path


H = TypeVar("H", bound=HasPath)
T = TypeVar("T")


def kept_while_unchanged(*names: str) -> Callable[[Callable[[H], T]], Callable[[H], T]]:
    """Make a method return the value of the last call for the same folder, as long as its files are unchanged.

    A rerun of a page asks for the same few things again and again; a look at times and sizes takes a tenth of the
    time that it takes to open and check the files.

    Args:
        names: The files in the folder that the value is made from.

    Returns:
        The decorator. Errors of the method are not kept.
    """

    def decorate(method: Callable[[H], T]) -> Callable[[H], T]:
        cache: dict[Path, tuple[object, T]] = {}

        def call(self: H) -> T:
            stamps = tuple(stamp(self.path / name) for name in names)  # before the files are read
            entry = cache.get(self.path)
            if entry is None or entry[0] != stamps:
                entry = stamps, method(self)
                if len(cache) >= MAX_KEPT:
                    cache.clear()
                cache[self.path] = entry
            return entry[1]

        call.__doc__ = method.__doc__
        return call

    return decorate


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return modification time, size and inode of a file; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
