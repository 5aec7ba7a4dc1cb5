"""The experiment trackers that a run can be logged in."""

from dataclasses import dataclass

from dmlviz.catalog.parameters import Catalog, Spec


@dataclass(frozen=True, kw_only=True)
class TrackerSpec(Spec):
    """An experiment tracker.

    Attributes:
        extra: the extra of dmlviz that installs its library.
        library: the module that is imported.
        target: where a run goes if nothing else is said: a folder, an address, or a project.
    """

    extra: str
    library: str
    target: str


TRACKERS = Catalog(
    "tracker",
    [
        TrackerSpec(
            name="tensorboard",
            title="TensorBoard",
            summary="Event files and the embeddings with their images for its Projector, in a folder.",
            extra="tensorboard",
            library="tensorboard",
            target="tensorboard",
        ),
        TrackerSpec(
            name="mlflow",
            title="MLflow",
            summary="A run on a tracking server (its address), with the map as an artifact.",
            extra="mlflow",
            library="mlflow",
            target="http://127.0.0.1:5000",
        ),
        TrackerSpec(
            name="wandb",
            title="Weights & Biases",
            summary="A run in a project, with the map as an artifact; WANDB_MODE=offline keeps it on this machine.",
            extra="wandb",
            library="wandb",
            target="dmlviz",
        ),
    ],
)
