"""The engines that compute a map: dmlviz itself, a widely used reference library, or TorchDR where it is installed."""

from collections.abc import Mapping
from typing import Any, Literal

from dmlviz.catalog import projection_checks as checks
from dmlviz.catalog.parameters import specs
from dmlviz.catalog.projections import PROJECTIONS, ProjectionSpec
from dmlviz.errors import UserError


def _by_method(table: str, **code: dict[str, Any]) -> dict[str, ProjectionSpec]:
    cautions = {method: {"caution": PROJECTIONS[method].caution} | fields for method, fields in code.items()}
    return dict(zip(cautions, specs(ProjectionSpec, table, cautions), strict=True))


_PERPLEXITY, _NEIGHBORS = {"limits": checks.perplexity_limit}, {"limits": checks.neighbors_limit}
_SPREAD = {"check_params": checks.check_spread}
# scikit-learn's and umap-learn's maps: their own parameters, by our names where we have one.
REFERENCES = _by_method(
    "reference", tsne={"check_points": checks.check_scikit_learn} | _PERPLEXITY, umap=_SPREAD | _NEIGHBORS
)
TORCHDR = _by_method("torchdr", tsne=_PERPLEXITY, umap=_SPREAD | _NEIGHBORS)

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
