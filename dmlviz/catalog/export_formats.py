"""The specs of the export formats of a run."""

from dataclasses import dataclass
from importlib.util import find_spec

from dmlviz.catalog.parameters import Catalog, Spec, texts


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
            **texts("format", "html"),
            suffix=".html",
            media_type="text/html",
        ),
        ExportFormatSpec(
            **texts("format", "film"),
            suffix=".webp",
            media_type="image/webp",
        ),
        ExportFormatSpec(
            **texts("format", "gif"),
            suffix=".gif",
            media_type="image/gif",
        ),
        ExportFormatSpec(
            **texts("format", "csv"),
            suffix=".csv",
            media_type="text/csv",
        ),
        ExportFormatSpec(
            **texts("format", "parquet"),
            suffix=".parquet",
            media_type="application/vnd.apache.parquet",
        ),
        ExportFormatSpec(
            **texts("format", "projector"),
            suffix=".zip",
            media_type="application/zip",
        ),
        ExportFormatSpec(
            **texts("format", "faiss"),
            suffix=".faiss",
            media_type="application/octet-stream",
        ),
        ExportFormatSpec(
            **texts("format", "figures"),
            suffix=".zip",
            media_type="application/zip",
        ),
        *(
            ExportFormatSpec(
                **texts("format", name),
                suffix=f".{name}",
                media_type=media_type,
                library="matplotlib",
                extra="figures",
            )
            for name, media_type in (("svg", "image/svg+xml"), ("pdf", "application/pdf"), ("png", "image/png"))
        ),
        ExportFormatSpec(
            **texts("format", "onnx"),
            suffix=".onnx",
            media_type="application/octet-stream",
            needs_net=True,
            needs_torch=True,
            library="onnxscript",
            extra="onnx",
        ),
        ExportFormatSpec(
            **texts("format", "weights"),
            suffix=".safetensors",
            media_type="application/octet-stream",
            needs_net=True,
        ),
        ExportFormatSpec(
            **texts("format", "python"),
            suffix=".py",
            media_type="text/x-python",
        ),
        ExportFormatSpec(
            **texts("format", "command"),
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
