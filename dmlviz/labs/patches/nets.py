"""The nets that compare two patches: each gives a score for each pair."""

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz.nets import CentralSurroundNet, DecisionNet, PairNet, SiameseNet, TwoChannelNet, build
from dmlviz.nets.models import registry
from dmlviz.ops.pairwise import l2_normalize

DIMENSIONS = 64  # of a descriptor
STREAM = 64  # features of each of two streams


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
        kind: One of `dmlviz.labs.patches.spec.NETS`.
        size: Side of a patch in pixels.
        seed: Seed of the weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return _MAKERS[kind](size)


def _tower(size: int, normalize: bool = False) -> nn.Module:
    return build("small", embedding_dim=DIMENSIONS, normalize=normalize, size=size)


def _body(size: int, outputs: int) -> nn.Module:
    """Return the body of the same net, for two channels."""
    body: nn.Module = registry["small"](2, size, outputs)
    return body


def _two_streams(size: int) -> nn.Module:
    central, surround = (nn.Sequential(_body(size // 2, STREAM), nn.ReLU()) for _ in range(2))
    return CentralSurroundNet(central, surround, 2 * STREAM)


_MAKERS = {
    "pixels": lambda size: PixelScore(),
    "siam": lambda size: DecisionNet(SiameseNet(_tower(size)), DIMENSIONS),
    "pseudo-siam": lambda size: DecisionNet(PairNet(_tower(size), _tower(size), "none"), DIMENSIONS),
    "siam-l2": lambda size: DistanceScore(SiameseNet(_tower(size, normalize=True))),
    "2ch": lambda size: TwoChannelNet(_body(size, 1)),
    "2ch-2stream": _two_streams,
}


def num_weights(net: nn.Module) -> int:
    """Return how many weights a net has; shared ones count once."""
    return int(np.sum([weight.numel() for weight in net.parameters()], dtype=np.int64))
