"""Export of the trained net as an ONNX file that takes images as bytes."""

import tempfile
import warnings
from pathlib import Path
from typing import IO

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport

EXTRA = "An ONNX file is written by onnxscript, which is not installed: pip install 'dmlviz[onnx]'."


def write_onnx(export: RunExport, file: IO[bytes]) -> None:
    """Write the net: input "images" (n × channels × size × size, uint8), output "embeddings" (n × d, float32).

    The number of images is free. The file holds the normalization of the pixels and of the embeddings.

    Raises:
        UserError: If the run has no net, or the extra `onnx` is not installed.
    """
    try:
        import onnxscript  # noqa: F401  what torch.onnx.export needs
    except ImportError:
        raise UserError(EXTRA) from None
    import torch

    from dmlviz.nets.byte_images import from_bytes
    from dmlviz.runs.embed import trained_net

    spec = DATASETS[export.run.config.dataset]
    if spec.features is not None:
        raise UserError(
            f"An ONNX file takes images as bytes; the net of {export.run.title} takes features of a backbone: export "
            "its weights instead."
        )
    net = from_bytes(trained_net(export.run), spec.mean, spec.std)
    images = torch.zeros((2, spec.channels, spec.size, spec.size), dtype=torch.uint8)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)  # PyTorch's exporter about PyTorch
        program = torch.onnx.export(
            net,
            (images,),
            dynamo=True,
            input_names=["images"],
            output_names=["embeddings"],
            dynamic_shapes=({0: torch.export.Dim("n")},),
            verbose=False,
        )
    assert program is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        program.save(str(path), external_data=False)
        file.write(path.read_bytes())
