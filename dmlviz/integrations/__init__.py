"""Callbacks of other training libraries that record their trainings; each module needs its library."""

from contextlib import suppress
from importlib.util import find_spec

from dmlviz.errors import UserError


class MissingLibraryError(UserError, ImportError):
    """A library that is not installed; also an ImportError, as any import of it would raise."""


def missing(library: str, extra: str) -> MissingLibraryError:
    """Return the error for a missing library.

    Args:
        library: Its name.
        extra: The extra of dmlviz that installs it.
    """
    return MissingLibraryError(
        f"This part of dmlviz needs {library}, which is not installed: pip install 'dmlviz[{extra}]'."
    )


def prepare_import(library: str) -> None:
    """Mend torchvision, if there is one, for a library that imports it; raise ImportError where there is no library."""
    if find_spec(library) is None:
        raise ImportError(library)
    from dmlviz.nets.torchvision_operators import register_missing

    with suppress(UserError):
        register_missing()
