"""The specs of scikit-learn's and umap-learn's maps: their own parameters, by our names where we have one.

The metrics are those by which we can also measure what a map keeps.
"""

from dmlviz.catalog import projection_checks as checks
from dmlviz.catalog.parameters import Parameter
from dmlviz.catalog.projections import PROJECTIONS, ProjectionSpec

METRICS = ("euclidean", "cosine", "correlation", "manhattan", "chebyshev", "canberra", "braycurtis")

_METRIC = Parameter(
    name="metric", kind=str, default="euclidean", choices=METRICS, help="distance by which points are neighbors"
)


def _number(name: str, default: float, minimum: float, maximum: float, step: float, help: str) -> Parameter:
    kind = type(default)
    return Parameter(name=name, kind=kind, default=default, minimum=minimum, maximum=maximum, step=step, help=help)


_TSNE = ProjectionSpec(
    name="scikit-learn",
    title="t-SNE by scikit-learn",
    summary="The reference: sklearn.manifold.TSNE as it is. It shows nothing before its end.",
    reference="Pedregosa et al.: Scikit-learn: Machine learning in Python, JMLR 2011",
    linear=False,
    caution=PROJECTIONS["tsne"].caution,
    module="dmlviz.projection.reference",
    waiting="scikit-learn lays out the points; it shows nothing before its end",
    check_points=checks.check_scikit_learn,
    limits=checks.perplexity_limit,
    parameters=(
        _number("perplexity", 30.0, 1, 200, 1, "how many neighbors count for each point"),
        _number("iterations", 1000, 250, 5000, 50, "max_iter: the most steps of the layout"),
        _number("exaggeration", 12.0, 1, 50, 1, "early_exaggeration: how strongly neighbors pull at the start"),
        Parameter(
            name="learning_rate",
            kind=float,
            default="auto",
            minimum=10,
            maximum=100_000,
            step=10,
            special_values=("auto",),
            help="length of the steps; auto is the number of points by four times the exaggeration, at least 50",
        ),
        _METRIC,
        Parameter(
            name="init",
            kind=str,
            default="pca",
            choices=("pca", "random"),
            help="the first positions: PCA keeps more of the large picture",
        ),
        Parameter(
            name="method",
            kind=str,
            default="barnes_hut",
            choices=("barnes_hut", "exact"),
            help="exact looks at all pairs: for up to 5,000 points, and slow",
        ),
    ),
)

_UMAP = ProjectionSpec(
    name="umap-learn",
    title="UMAP by umap-learn",
    summary="The reference: the authors' own program as it is. It compiles before each map: a minute or two.",
    reference="McInnes, Healy, Melville: UMAP, 2018; densMAP: Narayan, Berger, Cho, Nature Biotechnology 2021",
    linear=False,
    caution=PROJECTIONS["umap"].caution,
    module="dmlviz.projection.reference",
    waiting="umap-learn is compiling, which can take a minute or two",
    check_params=checks.check_spread,
    limits=checks.neighbors_limit,
    parameters=(
        _number("neighbors", 15, 2, 200, 1, "n_neighbors: how many neighbors each point is linked to"),
        _number("min_dist", 0.1, 0.0, 1, 0.05, "how close points may be drawn; at most spread"),
        _number("spread", 1.0, 0.1, 10, 0.1, "how wide the map is drawn"),
        _number("iterations", 500, 10, 2000, 10, "n_epochs: steps of the layout"),
        _number("dens_lambda", 2.0, 0.0, 100, 0.5, "how much the crowding counts in densMAP"),
        _number("target_weight", 0.5, 0.0, 1, 0.1, "how much the classes count in a supervised map"),
        Parameter(
            name="densmap",
            kind=bool,
            default=False,
            help="densMAP: keep how crowded each neighborhood is, too",
        ),
        Parameter(
            name="supervised",
            kind=bool,
            default=False,
            help="supervised layout: labels influence the map, so classes can separate even if the embedding does not",
        ),
        _METRIC,
    ),
)

REFERENCES: dict[str, ProjectionSpec] = {"tsne": _TSNE, "umap": _UMAP}
