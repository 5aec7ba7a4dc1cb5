"""Who computes a map: dmlviz itself, or the library that everybody refers to."""

from typing import Literal

from dmlviz.errors import UserError
from dmlviz.projection.declared import PROJECTIONS, ProjectionDeclaration
from dmlviz.projection.declared_reference import REFERENCES

Engine = Literal["dmlviz", "reference"]


def declaration(method: str, engine: Engine = "dmlviz") -> ProjectionDeclaration:
    """What a method is and takes when this engine draws it; raise UserError where the engine does not know it."""
    own = PROJECTIONS[method]
    if engine == "dmlviz":
        return own
    if method not in REFERENCES:
        raise UserError(
            f"The reference engine draws {', '.join(REFERENCES)}; got {method}: leave the engine out, or set it to "
            "dmlviz."
        )
    return REFERENCES[method]
