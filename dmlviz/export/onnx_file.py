"""Export of the trained net as an ONNX file that takes images as bytes."""

import tempfile
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FORMATS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport

if TYPE_CHECKING:
    from torch import Tensor, nn


def write_onnx(export: RunExport, file: IO[bytes]) -> None:
    """Write the net: input "images" (n × channels × size × size, uint8), output "embeddings" (n × d, float32).

    The number of images is free. The file holds the normalization of the pixels and of the embeddings, and a backbone
    if there is one.

    Raises:
        UserError: If the run has no net, the weights of its backbone are not on this machine, or the extra `onnx` is
            not installed.
    """
    if FORMATS["onnx"].problem:
        raise UserError(FORMATS["onnx"].problem)
    import torch

    from dmlviz.nets.byte_images import behind_backbone, from_bytes
    from dmlviz.nets.models import EmbeddingNet
    from dmlviz.runs.embed import trained_net

    spec = DATASETS[export.run.config.dataset]
    trained = trained_net(export.run)
    if spec.features is not None:
        net: torch.nn.Module = behind_backbone(trained, spec.name)
    else:
        assert isinstance(trained, EmbeddingNet)  # it has no backbone
        net = from_bytes(trained, spec.mean, spec.std)
    save_net(net, torch.zeros((2, spec.channels, spec.size, spec.size), dtype=torch.uint8), file)


def save_net(net: "nn.Module", images: "Tensor", file: IO[bytes]) -> None:
    """Write a net that takes images as bytes.

    Args:
        net: The net, of operations that ONNX knows.
        images: Two images of the size that it takes.
        file: The file.
    """
    import torch

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
