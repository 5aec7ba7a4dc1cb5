"""The specs of TorchDR's maps: their own parameters, by our names where we have one."""

from dmlviz.catalog import projection_checks as checks
from dmlviz.catalog.parameters import Parameter
from dmlviz.catalog.projections import METRIC, PROJECTIONS, ProjectionSpec

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
