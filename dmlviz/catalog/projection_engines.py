"""The engines that compute a map: dmlviz itself, a widely used reference library, or TorchDR where it is installed."""

from collections.abc import Mapping
from typing import Literal

from dmlviz.catalog import projection_checks as checks
from dmlviz.catalog.parameters import Parameter
from dmlviz.catalog.projections import METRIC, PROJECTIONS, ProjectionSpec
from dmlviz.catalog.reference_projections import REFERENCES
from dmlviz.errors import UserError

_REFERENCE = "Van Assel et al.: TorchDR, github.com/TorchDR/TorchDR"


def _number(name: str, default: float, minimum: float, maximum: float, step: float, help: str) -> Parameter:
    return Parameter(
        name=name, kind=type(default), default=default, minimum=minimum, maximum=maximum, step=step, help=help
    )


_TSNE = ProjectionSpec(
    name="torchdr-tsne",
    title="t-SNE by TorchDR",
    summary="TorchDR's t-SNE as it is: made for a graphics card, slow without one. It shows nothing before its end.",
    reference=_REFERENCE,
    linear=False,
    caution=PROJECTIONS["tsne"].caution,
    module="dmlviz.projection.torchdr_engine",
    waiting="TorchDR lays out the points; it shows nothing before its end",
    limits=checks.perplexity_limit,
    parameters=(
        _number("perplexity", 30.0, 1, 200, 1, "how many neighbors count for each point"),
        _number("iterations", 2000, 50, 5000, 50, "max_iter: the most steps of the layout"),
        _number("exaggeration", 12.0, 1, 50, 1, "early_exaggeration_coeff: how strongly neighbors pull at the start"),
        METRIC,
    ),
)

_UMAP = ProjectionSpec(
    name="torchdr-umap",
    title="UMAP by TorchDR",
    summary="TorchDR's UMAP as it is: made for a graphics card. It shows nothing before its end.",
    reference=_REFERENCE,
    linear=False,
    caution=PROJECTIONS["umap"].caution,
    module="dmlviz.projection.torchdr_engine",
    waiting="TorchDR lays out the points; it shows nothing before its end",
    check_params=checks.check_spread,
    limits=checks.neighbors_limit,
    parameters=(
        _number("neighbors", 30, 2, 200, 1, "n_neighbors: how many neighbors each point is linked to"),
        _number("min_dist", 0.1, 0.0, 1, 0.05, "how close points may be drawn; at most spread"),
        _number("spread", 1.0, 0.1, 10, 0.1, "how wide the map is drawn"),
        _number("iterations", 1000, 10, 2000, 10, "max_iter: steps of the layout"),
        METRIC,
    ),
)

TORCHDR: dict[str, ProjectionSpec] = {"tsne": _TSNE, "umap": _UMAP}


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
