"""The specs of the export formats of a run."""

from dataclasses import dataclass
from importlib.util import find_spec

from dmlviz.catalog.parameters import Catalog, Spec


@dataclass(frozen=True, kw_only=True)
class ExportFormatSpec(Spec):
    """A kind of file: how its name ends and what it is called on the web (RFC 6838).

    `needs_net` says that the run must have weights, `needs_torch` that writing it loads torch, which a server does in
    a process of its own. `library` is what must be installed, by the extra `extra` of dmlviz.
    """

    suffix: str
    media_type: str
    needs_net: bool = False
    needs_torch: bool = False
    library: str = ""
    extra: str = ""

    @property
    def problem(self) -> str:
        """Why such a file cannot be made on this machine, in a sentence; empty if it can."""
        if not self.library or find_spec(self.library) is not None:
            return ""
        return f"{self.title} needs {self.library}, which is not installed: pip install 'dmlviz[{self.extra}]'."


FORMATS = Catalog(
    "format",
    [
        ExportFormatSpec(
            name="html",
            title="Page to pass on",
            summary="The map that plays, in one file; needs no server.",
            suffix=".html",
            media_type="text/html",
        ),
        ExportFormatSpec(
            name="csv",
            title="Table, CSV",
            summary="Class, place on the map and ten neighbors of each image.",
            suffix=".csv",
            media_type="text/csv",
        ),
        ExportFormatSpec(
            name="parquet",
            title="Table, Parquet",
            summary="The same table, and the embeddings.",
            suffix=".parquet",
            media_type="application/vnd.apache.parquet",
        ),
        ExportFormatSpec(
            name="projector",
            title="TensorFlow Projector",
            summary="Vectors, metadata and sprite, zipped.",
            suffix=".zip",
            media_type="application/zip",
        ),
        ExportFormatSpec(
            name="faiss",
            title="FAISS index",
            summary="The embeddings for searches by FAISS, with the numbers of the images as IDs.",
            suffix=".faiss",
            media_type="application/octet-stream",
        ),
        ExportFormatSpec(
            name="figures",
            title="Figures",
            summary="Recall@k, ROC, distances, confusion, training, map: pages for any browser, with tables, zipped.",
            suffix=".zip",
            media_type="application/zip",
        ),
        ExportFormatSpec(
            name="onnx",
            title="Net, ONNX",
            summary="The trained net for other programs: images as bytes in, embeddings out.",
            suffix=".onnx",
            media_type="application/octet-stream",
            needs_net=True,
            needs_torch=True,
            library="onnxscript",
            extra="onnx",
        ),
        ExportFormatSpec(
            name="weights",
            title="Weights",
            summary="The trained net as safetensors.",
            suffix=".safetensors",
            media_type="application/octet-stream",
            needs_net=True,
        ),
        ExportFormatSpec(
            name="python",
            title="Python",
            summary="The script that gives the same numbers.",
            suffix=".py",
            media_type="text/x-python",
        ),
        ExportFormatSpec(
            name="command",
            title="Command",
            summary="The commands that give the same numbers.",
            suffix=".sh",
            media_type="text/x-shellscript",
        ),
    ],
)


@dataclass(frozen=True, kw_only=True)
class TrackerSpec(Spec):
    """An experiment tracker.

    Attributes:
        extra: The extra of dmlviz that installs its library.
        library: The module that is imported.
        target: Default destination of a run: a folder, an address, or a project.
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
