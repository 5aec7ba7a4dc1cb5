"""Machines that train for a server, and the errors between two of them."""

from importlib import import_module

from dmlviz.errors import UserError


class FleetError(UserError):
    """A fleet that cannot be reached or joined; the message says why and what to do."""


class MachineLostError(Exception):
    """A machine that has a job is gone, or gives no answer; the job should begin again elsewhere."""


def import_extra(package: str) -> None:
    """Import a package of the extra; raise FleetError, with the command that installs it, if it is missing."""
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise FleetError(f"A fleet needs the package {package}: pip install 'dmlviz[fleet]'.") from None
