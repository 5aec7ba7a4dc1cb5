"""The specs of the figures of a run. Loads no Plotly."""

from dmlviz.catalog.parameters import Catalog, Spec

FIGURES = Catalog(
    "figure",
    [
        Spec(
            name="recall_at_k",
            title="Recall@k",
            summary="The share of images with an image of their own class among their k nearest. The search for "
            "persons and faces calls it CMC.",
        ),
        Spec(
            name="roc",
            title="ROC",
            summary="Two images are called the same up to a distance. Each point is one such distance: how many pairs "
            "of one class it accepts, and how many pairs of two classes it lets in.",
        ),
        Spec(
            name="precision_recall",
            title="Precision–recall",
            summary="Of the pairs that a distance accepts, the share that is of one class; as many pairs of one class "
            "as of two are judged.",
        ),
        Spec(
            name="distance_histogram",
            title="Distances",
            summary="How far apart two images of one class are, and two of different classes. The less they overlap, "
            "the better a distance tells classes apart.",
        ),
        Spec(
            name="confusion_matrix",
            title="Confusion",
            summary="The class of each image (row) and that of its nearest neighbor (column). Colored are the errors.",
        ),
        Spec(
            name="training_curves",
            title="Training",
            summary="The loss of the batches, and the scores of the validation images on the way.",
        ),
        Spec(name="map", title="Map", summary="Where the images lie, colored by class."),
    ],
)
