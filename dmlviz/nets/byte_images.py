"""A net with its preparation of pixels, of operations that other programs know: for files to pass on."""

from copy import deepcopy

from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.nn.functional import normalize

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
    body = deepcopy(net.body)
    for parent in [*body.modules()]:
        for name, module in parent.named_children():
            if isinstance(module, PooledPReLU):  # looks at its slopes to choose an order, which a file cannot
                parent.set_submodule(name, nn.Sequential(_plain(module), nn.MaxPool2d(2)))
    return ByteImageNet(body, mean, std, net.normalize).eval()


def _plain(module: nn.PReLU) -> nn.PReLU:
    plain = nn.PReLU(module.num_parameters)
    plain.load_state_dict(module.state_dict())
    return plain
