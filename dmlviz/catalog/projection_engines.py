"""The engines that compute a map: dmlviz itself, or a widely used reference library."""

from typing import Literal

from dmlviz.catalog.projections import PROJECTIONS, ProjectionSpec
from dmlviz.catalog.reference_projections import REFERENCES
from dmlviz.errors import UserError

Engine = Literal["dmlviz", "reference"]


def declaration(method: str, engine: Engine = "dmlviz") -> ProjectionSpec:
    """Return the declaration of a method as this engine draws it; raise UserError if the engine does not support it."""
    own = PROJECTIONS[method]
    if engine == "dmlviz":
        return own
    if method not in REFERENCES:
        raise UserError(
            f"The reference engine draws {', '.join(REFERENCES)}; got {method}: leave the engine out, or set it to "
            "dmlviz."
        )
    return REFERENCES[method]
