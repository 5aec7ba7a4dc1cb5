"""The engines that compute a map: dmlviz itself, a widely used reference library, or TorchDR where it is installed."""

from collections.abc import Mapping
from typing import Literal

from dmlviz.catalog.projections import PROJECTIONS, ProjectionSpec
from dmlviz.catalog.reference_projections import REFERENCES
from dmlviz.catalog.torchdr_projections import TORCHDR
from dmlviz.errors import UserError

Engine = Literal["dmlviz", "reference", "torchdr"]
OTHERS: Mapping[Engine, Mapping[str, ProjectionSpec]] = {"reference": REFERENCES, "torchdr": TORCHDR}


def declaration(method: str, engine: Engine = "dmlviz") -> ProjectionSpec:
    """Return the declaration of a method as this engine draws it; raise UserError if the engine does not support it."""
    own = PROJECTIONS[method]
    if engine == "dmlviz":
        return own
    if method not in OTHERS[engine]:
        raise UserError(
            f"The engine {engine} draws {', '.join(OTHERS[engine])}; got {method}: leave the engine out, or set it to "
            "dmlviz."
        )
    return OTHERS[engine][method]


def programs(method: str) -> dict[Engine, str]:
    """Return the names of the programs that draw t-SNE or UMAP, by engine."""
    return {"dmlviz": "dmlviz", "reference": REFERENCES[method].name, "torchdr": "TorchDR"}


def declarations(method: str) -> list[ProjectionSpec]:
    """Return the declarations of a method by every engine that draws it."""
    return [specs[method] for specs in (PROJECTIONS, *OTHERS.values()) if method in specs]
