"""The nets' code: each is a body that ends in a linear layer, and whether its output is put on the unit sphere."""

from contextlib import nullcontext

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, prelu

from dmlviz.catalog.nets import NETS
from dmlviz.catalog.registry import Registry
from dmlviz.errors import UserError
from dmlviz.ops.pairwise import l2_normalize

registry = Registry(NETS)


class EmbeddingNet(nn.Module):
    """`net(images) -> embeddings`, on the unit sphere when `normalize`; an embedding of zero stays zero."""

    def __init__(self, name: str, body: nn.Module, image: tuple[int, int, int], normalize: bool) -> None:
        super().__init__()
        self.name = name
        self.body = body
        self.image = image
        self.normalize = normalize

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Embed normalized images; raise UserError when they are not of the size that the net was built for."""
        if images.shape[1:] != self.image:
            built, got = (" × ".join(map(str, shape)) for shape in (self.image, images.shape[1:]))
            raise UserError(f"This {self.name} takes images of {built} (channels × height × width); got {got}.")
        embeddings = self.body(images)
        return l2_normalize(embeddings) if self.normalize else embeddings


def build_model(
    name: str, embedding_dim: int, normalize: bool, channels: int, size: int, seed: int | None
) -> EmbeddingNet:
    with nullcontext() if seed is None else torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.default_generator.manual_seed(seed)
        return EmbeddingNet(name, registry[name](channels, size, embedding_dim), (channels, size, size), normalize)


class PooledPReLU(nn.PReLU):
    """PReLU, then the maximum of 2 × 2 pixels. While the slope is not negative the two commute, exactly, and pooling
    first leaves PReLU, the slowest part of the classical net, a quarter of the pixels.
    """

    def forward(self, input: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h//2 w//2"]:
        if (self.weight >= 0).all():
            return prelu(max_pool2d(input, 2), self.weight)
        return max_pool2d(prelu(input, self.weight), 2)


@registry.register("small")
def _small_cnn(channels: int, size: int, embedding_dim: int) -> nn.Module:
    # The first stride leaves 8 to 10 columns of any image, so that the work does not grow with its size.
    stride = max(1, round(size / 9))
    kernel = max(3, 2 * stride)
    features = nn.Sequential(
        nn.Conv2d(channels, 32, kernel, stride, padding=(kernel - stride) // 2),
        nn.ReLU(),
        nn.Conv2d(32, 48, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
    )
    return nn.Sequential(
        *features, nn.Linear(_num_features(features, channels, size), 112), nn.ReLU(), nn.Linear(112, embedding_dim)
    )


@registry.register("lenet")
def _lenet(channels: int, size: int, embedding_dim: int) -> nn.Module:
    padding = 0 if size >= 16 else 2  # the classical net has none, but an image of 8 × 8 would vanish
    features = nn.Sequential(
        nn.Conv2d(channels, 32, 5, padding=padding),
        PooledPReLU(),
        nn.Conv2d(32, 64, 5, padding=padding),
        PooledPReLU(),
        nn.Flatten(),
    )
    return nn.Sequential(
        *features,
        nn.Linear(_num_features(features, channels, size), 256),
        nn.PReLU(),
        nn.Linear(256, 256),
        nn.PReLU(),
        nn.Linear(256, embedding_dim),
    )


@registry.register("mlp")
def _mlp(channels: int, size: int, embedding_dim: int) -> nn.Module:
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(channels * size**2, 256),
        nn.ReLU(),
        nn.Linear(256, 256),
        nn.ReLU(),
        nn.Linear(256, embedding_dim),
    )


@registry.register("protonet")
def _protonet(channels: int, size: int, embedding_dim: int) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs in (channels, 64, 64, 64):
        layers += [nn.Conv2d(inputs, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()]
        if size >= 2:  # after three poolings an image of 8 × 8 is one pixel
            layers.append(nn.MaxPool2d(2))
            size //= 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * size**2, embedding_dim))


@registry.register("resnet18")
def _resnet18(channels: int, size: int, embedding_dim: int) -> nn.Module:
    from dmlviz.nets.torchvision_operators import register_missing

    register_missing()
    from torchvision.models import resnet18

    net = resnet18(num_classes=embedding_dim)
    if size < 64:  # keep the pixels that small images have (He et al. 2016, section 4.2)
        net.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        net.maxpool = nn.Identity()  # type: ignore[assignment]
    elif channels != 3:
        net.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
    return net


def _num_features(features: nn.Module, channels: int, size: int) -> int:
    with torch.no_grad():
        return features(torch.zeros(1, channels, size, size)).shape[1]
