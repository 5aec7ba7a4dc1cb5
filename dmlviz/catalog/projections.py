"""The specs of the projections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dmlviz.catalog import projection_checks as checks
from dmlviz.catalog.parameters import Catalog, Parameter, Params, Spec, texts


@dataclass(frozen=True, kw_only=True)
class ProjectionSpec(Spec):
    """A projection, with all that the program must know of it beside its computation.

    A parameter called `iterations` makes it iterative: it is drawn while it forms. One called `metric` is the distance
    of the embedding that it goes by, and one called `supervised`, where true, hands it the labels.

    explanation: the formula in words, for who has not met it.
    linear: whether the map is a linear function of the embedding; new points are then placed exactly.
    caution: two lines on what may not be read from its picture.
    module: the module that implements it, imported when it is needed; empty for a plug-in.
    native: whether a run plays it by itself, without being asked.
    identity: whether it draws the embedding's own dimensions as they are.
    needs_labels: whether it cannot do without the class of every point.
    resumable: whether a stopped layout can continue from its positions.
    slow_in_3d: the number of points from which on three dimensions take minutes, or None.
    in_page: whether the page computes it, too, from its own parameters: for points to play with.
    waiting: what is said until its first positions are there, for one that shows nothing before its end.
    check_params: raises UserError for parameters (by name) that do not go together in so many dimensions of the map.
    check_points: the same for parameters, dimensions of the map, number of points, dimensions of the embedding.
    limits: from number of points and dimensions of the embedding, the largest value of parameters, by name; a map is
        drawn with a lower perplexity or fewer neighbors than asked for, and the rest is what `check_points` refuses.
    """

    linear: bool
    caution: str
    explanation: str = ""
    module: str = ""
    native: bool = False
    identity: bool = False
    needs_labels: bool = False
    resumable: bool = False
    slow_in_3d: int | None = None
    in_page: bool = False
    waiting: str = ""
    check_params: Callable[[Params, int], None] | None = None
    check_points: Callable[[Params, int, int, int], None] | None = None
    limits: Callable[[int, int], Mapping[str, float]] | None = None

    @property
    def iterative(self) -> bool:
        """Return whether it moves the points step by step."""
        return any(parameter.name == "iterations" for parameter in self.parameters)

    @property
    def follows(self) -> bool:
        """Return whether its map can go on from snapshot to snapshot of a training."""
        return (self.linear or self.resumable) and not self.native


def _component(axis: str, default: int) -> Parameter:
    return Parameter(
        name=axis,
        kind=int,
        default=default,
        minimum=1,
        maximum=1024,
        step=1,
        help=f"component drawn along {axis}; 1 is the direction of the largest variance",
    )


METRIC = Parameter(
    name="metric",
    kind=str,
    default="euclidean",
    choices=("euclidean", "cosine"),
    help="distance by which points are neighbors",
)

PROJECTIONS = Catalog(
    "projection",
    [
        ProjectionSpec(
            **texts("projection", "plane"),
            linear=True,
            native=True,
            module="dmlviz.projection.linear",
            identity=True,
            check_points=checks.check_plane,
        ),
        ProjectionSpec(
            **texts("projection", "fan"),
            linear=True,
            native=True,
            module="dmlviz.projection.linear",
            needs_labels=True,
        ),
        ProjectionSpec(
            **texts("projection", "pca"),
            linear=True,
            module="dmlviz.projection.linear",
            check_params=checks.check_different_axes,
            check_points=checks.check_components,
            limits=checks.component_limits,
            parameters=(
                _component("x", 1),
                _component("y", 2),
                _component("z", 3),
                Parameter(
                    name="fitted",
                    kind=str,
                    default="one",
                    choices=("one", "all", "each"),
                    help="to one epoch (the one drawn; in a replay, the last), to all together, or in a replay to each",
                ),
            ),
        ),
        ProjectionSpec(
            **texts("projection", "tsne"),
            linear=False,
            module="dmlviz.projection.tsne",
            in_page=True,
            resumable=True,
            slow_in_3d=3000,
            limits=checks.perplexity_limit,
            parameters=(
                Parameter(
                    name="perplexity",
                    kind=float,
                    default=30.0,
                    minimum=1,
                    maximum=200,
                    step=1,
                    help="how many neighbors count for each point",
                ),
                Parameter(
                    name="iterations",
                    kind=int,
                    default=600,
                    minimum=10,
                    maximum=5000,
                    step=50,
                    help="steps of the layout",
                ),
                Parameter(
                    name="exaggeration",
                    kind=float,
                    default=12.0,
                    minimum=1,
                    maximum=50,
                    step=1,
                    help="how strongly neighbors pull at the start",
                ),
                Parameter(
                    name="attraction",
                    kind=float,
                    default=1.0,
                    minimum=0.2,
                    maximum=30,
                    step=0.1,
                    help="how strongly neighbors pull afterwards: 1 is t-SNE, 4 looks like UMAP, 30 like a spectral "
                    "layout (Böhm, Berens, Kobak, JMLR 2022)",
                ),
                METRIC,
            ),
        ),
        ProjectionSpec(
            **texts("projection", "umap"),
            linear=False,
            module="dmlviz.projection.umap",
            in_page=True,
            resumable=True,
            limits=checks.neighbors_limit,
            parameters=(
                Parameter(
                    name="neighbors",
                    kind=int,
                    default=15,
                    minimum=2,
                    maximum=200,
                    step=1,
                    help="how many neighbors each point is linked to",
                ),
                Parameter(
                    name="min_dist",
                    kind=float,
                    default=0.1,
                    minimum=0,
                    maximum=1,
                    step=0.05,
                    help="how close points may be drawn",
                ),
                Parameter(
                    name="iterations",
                    kind=int,
                    default=200,
                    minimum=10,
                    maximum=2000,
                    step=10,
                    help="steps of the layout",
                ),
                METRIC,
                Parameter(
                    name="supervised",
                    kind=bool,
                    default=False,
                    help="supervised layout: labels influence the map, so classes can separate even if the "
                    "embedding does not",
                ),
            ),
        ),
    ],
)
