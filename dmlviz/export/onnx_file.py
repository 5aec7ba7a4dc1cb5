"""Export of the trained net as an ONNX file that takes images as bytes."""

import tempfile
import warnings
from copy import deepcopy
from pathlib import Path
from typing import IO, TYPE_CHECKING

from jaxtyping import Float, UInt8
from torch import Tensor, linalg, nn
from torch.nn.functional import normalize

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FORMATS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.nets.backbones import Backbone
from dmlviz.nets.features import backbone_of
from dmlviz.nets.fine_tuned import FineTunedNet
from dmlviz.nets.models import EmbeddingNet, PooledPReLU
from dmlviz.ops.spaces import PoincareBall

if TYPE_CHECKING:
    from torch import Tensor, nn


class ByteImageNet(nn.Module):
    """From images as bytes to embeddings.

    Args:
        body: Module from normalized images to raw embeddings.
        mean: Mean of the pixels, of 0 to 1, that is subtracted.
        std: Standard deviation that they are divided by.
        unit: Whether embeddings are scaled to length 1.
    """

    def __init__(self, body: nn.Module, mean: float, std: float, unit: bool) -> None:
        super().__init__()
        self.body = body
        self.mean = mean
        self.std = std
        self.unit = unit

    def forward(self, images: UInt8[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Embed images."""
        embeddings: Tensor = self.body((images.float() / 255 - self.mean) / self.std)
        return normalize(embeddings, eps=1e-30) if self.unit else embeddings


def from_bytes(net: EmbeddingNet, mean: float, std: float) -> ByteImageNet:
    """Return a copy of a net that takes images as bytes.

    Args:
        net: The net, in evaluation mode.
        mean: Mean of the pixels of its training images, of 0 to 1.
        std: Their standard deviation.
    """
    return ByteImageNet(_plain_body(net), mean, std, net.normalize).eval()


class BackboneNet(nn.Module):
    """From images as bytes through a backbone and a head to embeddings.

    Args:
        backbone: The backbone, which scales and normalizes images itself.
        head: Module from scaled features to raw embeddings.
        mean: Mean of the features, that is subtracted.
        std: Standard deviation that they are divided by.
        unit: Whether embeddings are scaled to length 1.
    """

    def __init__(self, backbone: Backbone, head: nn.Module, mean: float, std: float, unit: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.mean = mean
        self.std = std
        self.unit = unit

    def forward(self, images: UInt8[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Embed images."""
        features = (self.backbone(images) - self.mean) / self.std
        embeddings: Tensor = self.head(features[:, :, None, None])
        return normalize(embeddings, eps=1e-30) if self.unit else embeddings


def behind_backbone(net: EmbeddingNet | FineTunedNet, dataset: str) -> BackboneNet:
    """Return a copy of a net, with the backbone before it, that takes images as bytes, on the processor.

    Args:
        net: A head on features of a backbone, or a net with unfrozen blocks.
        dataset: Name of its data set of features.

    Raises:
        UserError: If the weights of the backbone are not on this machine.
    """
    features = DATASETS[dataset].features
    assert features is not None
    if isinstance(net, FineTunedNet):
        backbone, head = deepcopy(net.backbone), net.head
    else:
        backbone, head = backbone_of(dataset, "An ONNX file"), net
    return BackboneNet(backbone, _plain_body(head), features.mean, features.std, head.normalize).cpu().eval()


def _plain_body(net: EmbeddingNet) -> nn.Module:
    """Return a copy of a net's body, of modules that other programs know."""
    body = deepcopy(net.body)
    for parent in [*body.modules()]:
        for name, module in parent.named_children():
            if isinstance(module, PooledPReLU):  # looks at its slopes to choose an order, which a file cannot
                setattr(parent, name, nn.Sequential(_plain(module), nn.MaxPool2d(2)))
    if net.neck is not None:
        body = nn.Sequential(body, nn.BatchNorm1d(net.neck.num_features))
        body[1].load_state_dict(net.neck.state_dict())
    return body if net.ball is None else nn.Sequential(body, _IntoBall(net.ball))


class _IntoBall(nn.Module):
    """`PoincareBall.drawn` in operations that a file knows."""

    def __init__(self, ball: PoincareBall) -> None:
        super().__init__()
        self.root, self.radius = ball.root, ball.radius

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Bring rows into the ball."""
        length = linalg.vector_norm(x, dim=1, keepdim=True).clamp_min(1e-20)
        placed: Tensor = x * (self.root * length.clamp_max(self.radius)).tanh() / (self.root * length)
        return placed


def _plain(module: nn.PReLU) -> nn.PReLU:
    plain = nn.PReLU(module.num_parameters)
    plain.load_state_dict(module.state_dict())
    return plain


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
