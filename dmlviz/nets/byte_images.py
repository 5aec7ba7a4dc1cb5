"""A net with its preparation of pixels, of operations that other programs know: for files to pass on."""

from copy import deepcopy

from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.nn.functional import normalize

from dmlviz.catalog.datasets import DATASETS
from dmlviz.nets.backbones import Backbone
from dmlviz.nets.features import backbone_of
from dmlviz.nets.fine_tuned import FineTunedNet
from dmlviz.nets.models import EmbeddingNet, PooledPReLU


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
    return body


def _plain(module: nn.PReLU) -> nn.PReLU:
    plain = nn.PReLU(module.num_parameters)
    plain.load_state_dict(module.state_dict())
    return plain
