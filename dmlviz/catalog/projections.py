"""The specs of the projections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dmlviz.catalog import projection_checks as checks
from dmlviz.catalog.parameters import Catalog, Parameter, Params, Spec


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
    waiting: str = ""
    check_params: Callable[[Params, int], None] | None = None
    check_points: Callable[[Params, int, int, int], None] | None = None
    limits: Callable[[int, int], Mapping[str, float]] | None = None

    @property
    def iterative(self) -> bool:
        """Return whether it moves the points step by step."""
        return any(parameter.name == "iterations" for parameter in self.parameters)


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
            name="plane",
            title="Learned space",
            summary="No projection: the net's own two or three dimensions.",
            formula=r"y_i = f_i",
            explanation="The position on the map is the embedding itself. That is possible only for a net whose "
            "embeddings have two or three dimensions.",
            when_to_use="To see what a loss does, exactly: train with 2 or 3 dimensions. For good scores use more.",
            linear=True,
            native=True,
            module="dmlviz.projection.linear",
            identity=True,
            check_points=checks.check_plane,
            caution="Nothing is lost: distances on the map are the distances that the loss saw. "
            "So few dimensions leave little room, though: classes may overlap that would part in more.",
        ),
        ProjectionSpec(
            name="fan",
            title="Class fan",
            summary="A flat view without distortion, turned so that the class centers fan out, first class on top.",
            formula=r"y_i = W(f_i-\bar f),\quad W=\arg\max_{WW^\top=I}\ \sum_{c=1}^{C} u_c^\top W(\mu_c-\bar f),"
            r"\quad u_c=\begin{pmatrix}\sin(2\pi (c-1)/C)\\ \cos(2\pi (c-1)/C)\end{pmatrix}",
            explanation="The directions u are spread evenly around a circle, one for each of the C classes. The map "
            "looks at the embeddings from the side from which the class means μ come closest to these directions. "
            "Like a photograph from the best side: it is turned, never stretched or bent.",
            when_to_use="To watch a training with more than three dimensions: the view is made in one step and its "
            "positions can be compared from step to step.",
            reference="Schönemann: A generalized solution of the orthogonal Procrustes problem, Psychometrika 1966",
            linear=True,
            native=True,
            module="dmlviz.projection.linear",
            needs_labels=True,
            caution="The view is chosen with the labels of the images shown, to tell classes apart. "
            "Which class stands beside which means nothing.",
        ),
        ProjectionSpec(
            name="pca",
            title="PCA",
            summary="The directions in which the embeddings vary most.",
            formula=r"y_i = W(f_i-\bar f),\quad W=\arg\max_{WW^\top=I}\ \frac1n\sum_i \|W(f_i-\bar f)\|^2",
            explanation="The rows of W are directions at right angles to each other. The first is the direction in "
            "which the embeddings spread most, the second the one with the largest spread that is left, and so on: "
            "they are the eigenvectors of the covariance matrix with the largest eigenvalues. A position on the map "
            "says how far an embedding lies along them.",
            when_to_use="As a first look without chance and without settings that matter. New points are placed "
            "exactly, and the share of the variance says how much is shown.",
            reference="Pearson 1901; Hotelling 1933",
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
            caution="Two groups that overlap here may be apart in a direction that is not drawn. "
            "The axes are those of the widest spread, which need not be the ones that tell classes apart.",
        ),
        ProjectionSpec(
            name="tsne",
            title="t-SNE",
            summary="Keeps near neighbors near, and lets the rest go.",
            formula=r"\min_y\ \sum_{i\ne j} p_{ij}\log\frac{p_{ij}}{q_{ij}},\quad "
            r"p_{j|i}=\frac{e^{-d_{ij}^2/2\sigma_i^2}}{\sum_{k\ne i} e^{-d_{ik}^2/2\sigma_i^2}},\quad "
            r"p_{ij}=\frac{p_{j|i}+p_{i|j}}{2n},\quad "
            r"q_{ij}=\frac{(1+\|y_i-y_j\|^2)^{-1}}{\sum_{k\ne l}(1+\|y_k-y_l\|^2)^{-1}}",
            explanation="p says how likely two points are neighbors in the embedding, q how likely they are on the "
            "map. The map is moved until q is close to p, measured by the Kullback-Leibler divergence. Each point has "
            "a width σ of its own, chosen so that about as many neighbors count as the perplexity says. On the map the "
            "probability falls slowly with the distance, which leaves room between groups.",
            when_to_use="To see groups and who is next to whom in many dimensions. Draw it with several perplexities "
            "and seeds before you believe a shape.",
            reference="van der Maaten, Hinton: Visualizing data using t-SNE, JMLR 2008",
            linear=False,
            module="dmlviz.projection.tsne",
            resumable=True,
            slow_in_3d=3000,
            limits=checks.perplexity_limit,
            caution="Only who is next to whom means something: sizes of clusters, and distances between them, mean "
            "nothing. Clumps can come from the perplexity alone: try another before believing one.",
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
            name="umap",
            title="UMAP",
            summary="Lays out a graph of near neighbors.",
            formula=r"\min_y\ -\sum_{i\ne j}\big[w_{ij}\log v_{ij}+(1-w_{ij})\log(1-v_{ij})\big],\quad "
            r"w_{j|i}=e^{-\max(0,\,d_{ij}-\rho_i)/\sigma_i},\quad w_{ij}=w_{j|i}+w_{i|j}-w_{j|i}w_{i|j},\quad "
            r"v_{ij}=\frac{1}{1+a\|y_i-y_j\|^{2b}}",
            explanation="w is the strength of the link between two points in the embedding: 1 for the nearest "
            "neighbor, at the distance ρ, then falling; σ is chosen so that the strengths of the k neighbors add up "
            "to log₂ k. v is the strength on the map; a and b follow from min_dist. Linked points attract each other, "
            "and a few points drawn by chance repel each other (negative samples), until v is close to w.",
            when_to_use="As t-SNE, for more points or in three dimensions. It is faster and often keeps more of how "
            "groups lie to each other.",
            reference="McInnes, Healy, Melville: UMAP, 2018",
            linear=False,
            module="dmlviz.projection.umap",
            resumable=True,
            limits=checks.neighbors_limit,
            caution="Gaps look wider than they are, and distances between clusters mean little. "
            "Who is next to whom is the part to trust; with classes given, even the gaps may be made up.",
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
