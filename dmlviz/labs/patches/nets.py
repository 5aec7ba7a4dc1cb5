"""The nets that compare two patches: each gives a score for each pair."""

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz.nets import CentralSurroundNet, DecisionNet, PairNet, SiameseNet, TwoChannelNet, TwoStreams, build
from dmlviz.nets.models import registry
from dmlviz.ops.pairwise import l2_normalize

DIMENSIONS = 64  # of a descriptor
STREAM = 64  # features of each of two streams
DEEP = (16, 32)  # filters of the two stacks of the deep net


class DistanceScore(nn.Module):
    """Descriptors of two towers, compared by their Euclidean distance: score = scale · (threshold − distance).

    Args:
        towers: The towers.
    """

    def __init__(self, towers: PairNet) -> None:
        super().__init__()
        self.towers = towers
        self.scale = nn.Parameter(torch.tensor(4.0))
        self.threshold = nn.Parameter(torch.tensor(1.0))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Return a score for each pair; higher for two patches that match."""
        return self.score(*self.towers(first, second))

    def score(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the scores of pairs whose descriptors are known."""
        distance = ((first - second).square().sum(1) + 1e-8).sqrt()
        return self.scale * (self.threshold - distance)


class PixelScore(nn.Module):
    """Correlation of the pixels: nothing is learned."""

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the correlation of each pair."""
        a, b = (l2_normalize(images.flatten(1) - images.flatten(1).mean(1, keepdim=True)) for images in (first, second))
        return (a * b).sum(1)


def build_patch_net(kind: str, size: int, seed: int) -> nn.Module:
    """Create a net that scores pairs of patches.

    Args:
        kind: One of `dmlviz.labs.patches.NETS`.
        size: Side of a patch in pixels.
        seed: Seed of the weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return _MAKERS[kind](size)


def _tower(size: int, normalize: bool = False) -> nn.Module:
    return build("small", embedding_dim=DIMENSIONS, normalize=normalize, size=size)


def _body(size: int, outputs: int, channels: int = 2) -> nn.Module:
    """Return the body of the same net, for both patches as two channels unless for one."""
    body: nn.Module = registry["small"](channels, size, outputs)
    return body


def _two_streams(size: int) -> nn.Module:
    central, surround = (nn.Sequential(_body(size // 2, STREAM), nn.ReLU()) for _ in range(2))
    return CentralSurroundNet(central, surround, 2 * STREAM)


def _two_stream_tower(size: int, normalize: bool = False) -> nn.Module:
    central, surround = (_body(size // 2, DIMENSIONS // 2, channels=1) for _ in range(2))
    return TwoStreams(central, surround, normalize)


def _deep(size: int) -> nn.Module:
    """Return the paper's deep body, narrower: a 4 × 4 convolution, then two stacks of three 3 × 3 convolutions."""
    channels = 2
    layers: list[nn.Module] = []
    for filters, kernel, stride in ((DEEP[0], 4, 3), *((width, 3, 1) for width in DEEP for _ in range(3))):
        convolution = nn.Conv2d(channels, filters, kernel, stride, padding=1)
        nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")  # else the signal fades in seven layers
        layers += [convolution, nn.ReLU()]
        channels = filters
    layers.insert(8, nn.MaxPool2d(2))  # between the stacks
    side = ((size - 2) // 3 + 1) // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * side**2, 1))


_MAKERS = {
    "pixels": lambda size: PixelScore(),
    "siam": lambda size: DecisionNet(SiameseNet(_tower(size)), DIMENSIONS),
    "pseudo-siam": lambda size: DecisionNet(PairNet(_tower(size), _tower(size), "none"), DIMENSIONS),
    "siam-l2": lambda size: DistanceScore(SiameseNet(_tower(size, normalize=True))),
    "siam-2stream": lambda size: DecisionNet(SiameseNet(_two_stream_tower(size)), DIMENSIONS),
    "siam-2stream-l2": lambda size: DistanceScore(SiameseNet(_two_stream_tower(size, normalize=True))),
    "2ch": lambda size: TwoChannelNet(_body(size, 1)),
    "2ch-deep": lambda size: TwoChannelNet(_deep(size)),
    "2ch-2stream": _two_streams,
}


def num_weights(net: nn.Module) -> int:
    """Return how many weights a net has; shared ones count once."""
    return int(np.sum([weight.numel() for weight in net.parameters()], dtype=np.int64))
