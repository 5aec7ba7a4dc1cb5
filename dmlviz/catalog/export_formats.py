"""The specs of the figures and the export formats of a run."""

from dataclasses import dataclass
from importlib.util import find_spec

from dmlviz.catalog.parameters import Catalog, Spec, specs

FIGURES = Catalog("figure", specs(Spec, "figure"))


@dataclass(frozen=True, kw_only=True)
class ExportFormatSpec(Spec):
    """A kind of file: how its name ends and what it is called on the web (RFC 6838).

    `needs_net` says that the run must have weights, `needs_torch` that writing it loads torch, which a server does in
    a process of its own. `library` is what must be installed, by the extra `extra` of dmlviz. `options` are those of
    `dmlviz export` that change what is shown.
    """

    suffix: str
    media_type: str
    needs_net: bool = False
    needs_torch: bool = False
    library: str = ""
    extra: str = ""
    options: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """Why such a file cannot be made on this machine, in a sentence; empty if it can."""
        if not self.library or find_spec(self.library) is not None:
            return ""
        return f"{self.title} needs {self.library}, which is not installed: pip install 'dmlviz[{self.extra}]'."


FORMATS = Catalog("format", specs(ExportFormatSpec, "format"))


@dataclass(frozen=True, kw_only=True)
class TrackerSpec(Spec):
    """An experiment tracker.

    Attributes:
        extra: The extra of dmlviz that installs its library.
        library: The module that is imported.
        target: Default destination of a run: a folder, an address, or a project.
    """

    extra: str
    library: str
    target: str


TRACKERS = Catalog("tracker", specs(TrackerSpec, "tracker"))
