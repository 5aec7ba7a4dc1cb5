"""The packages of the extra `fleet`, imported only on use."""

from importlib import import_module

from dmlviz.fleet.errors import FleetError


def import_extra(package: str) -> None:
    """Import a package of the extra; raise FleetError, with the command that installs it, if it is missing."""
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise FleetError(f"A fleet needs the package {package}: pip install 'dmlviz[fleet]'.") from None
