"""Whether a computation must take the same path for all values, because it is being written down as a program."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_fixed = ContextVar("fixed", default=False)


def on_fixed_path() -> bool:
    """Return whether code must not look at values to choose a faster way; the way for all values is right, too."""
    return _fixed.get()


@contextmanager
def fixed_path() -> Iterator[None]:
    """Take, for as long as the block lasts, the path that is right for all values."""
    token = _fixed.set(True)
    try:
        yield
    finally:
        _fixed.reset(token)
