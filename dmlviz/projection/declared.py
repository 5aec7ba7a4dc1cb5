"""The ways to draw an embedding, as they are offered."""

from dataclasses import dataclass

from dmlviz.declarations import Catalogue, Declaration, Parameter


@dataclass(frozen=True, kw_only=True)
class ProjectionDeclaration(Declaration):
    """A projection; `caution` says in two lines what may not be read from its picture."""

    linear: bool
    caution: str


METRIC = Parameter(
    name="metric",
    kind=str,
    default="euclidean",
    choices=("euclidean", "cosine"),
    help="distance by which points are neighbours",
)

PROJECTIONS = Catalogue(
    "projection",
    [
        ProjectionDeclaration(
            name="plane",
            title="Learned plane",
            summary="No projection: the net's own two dimensions.",
            linear=True,
            caution="Nothing is lost: distances on the map are the distances that the loss saw.",
        ),
        ProjectionDeclaration(
            name="fan",
            title="Class fan",
            summary="A flat view without distortion, turned so that the class centres fan out, first class on top.",
            reference="Schönemann: A generalized solution of the orthogonal Procrustes problem, Psychometrika 1966",
            linear=True,
            caution="The view is chosen with the labels of the images shown, to tell classes apart. "
            "Which class stands beside which means nothing.",
        ),
        ProjectionDeclaration(
            name="pca",
            title="PCA",
            summary="The directions in which the embeddings vary most.",
            reference="Pearson 1901; Hotelling 1933",
            linear=True,
            parameters=(
                Parameter(
                    name="first",
                    kind=int,
                    default=1,
                    minimum=1,
                    maximum=1023,
                    step=1,
                    help="first component drawn; 1 is the direction of the largest variance",
                ),
            ),
            caution="Two groups that overlap here may be apart in a direction that is not drawn.",
        ),
        ProjectionDeclaration(
            name="tsne",
            title="t-SNE",
            summary="Keeps near neighbours near, and lets the rest go.",
            reference="van der Maaten, Hinton: Visualizing data using t-SNE, JMLR 2008",
            linear=False,
            caution="Sizes of clusters and distances between them mean nothing; only who is next to whom does.",
            parameters=(
                Parameter(
                    name="perplexity",
                    kind=float,
                    default=30.0,
                    minimum=2,
                    maximum=200,
                    step=1,
                    help="how many neighbours count for each point",
                ),
                Parameter(
                    name="iterations",
                    kind=int,
                    default=600,
                    minimum=50,
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
                    help="how strongly neighbours pull at the start",
                ),
                METRIC,
            ),
        ),
        ProjectionDeclaration(
            name="umap",
            title="UMAP",
            summary="Lays out a graph of near neighbours.",
            reference="McInnes, Healy, Melville: UMAP, 2018",
            linear=False,
            caution="Gaps look wider than they are; distances between clusters mean little.",
            parameters=(
                Parameter(
                    name="neighbors",
                    kind=int,
                    default=15,
                    minimum=2,
                    maximum=200,
                    step=1,
                    help="how many neighbours each point is linked to",
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
                    help="whether the classes may draw the map too: they part even where the embedding does not",
                ),
            ),
        ),
    ],
)
