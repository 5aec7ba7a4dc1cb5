"""Nets for two or three images: towers with shared weights, and nets that look at both images at once."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, interpolate

from dmlviz.errors import UserError
from dmlviz.ops.pairwise import l2_normalize

Shared = Literal["all", "first", "last", "none"]


class PairNet(nn.Module):
    """Two towers, one for each image of a pair, with all, the first, the last or none of their weights in common.

    The layers that have weights are counted in the order of the net: "first" shares the first half of them (of an odd
    number the smaller half), "last" the rest. A siamese net shares all, a pseudo-siamese net none.

    Args:
        a: Tower of the first image.
        b: Tower of the second, built as the first; None for a copy of it. With `shared="all"` it is not used.
        shared: Weights that the towers have in common.

    Raises:
        UserError: For an unknown `shared`, or towers that are built differently.

    Examples:
        >>> import torch
        >>> from dmlviz.nets import build
        >>> net = PairNet(build("small", embedding_dim=8, seed=0), shared="last")
        >>> a, b = net(torch.zeros(2, 1, 28, 28), torch.zeros(2, 1, 28, 28))
        >>> a.shape
        torch.Size([2, 8])
    """

    def __init__(self, a: nn.Module, b: nn.Module | None = None, shared: Shared = "all") -> None:
        super().__init__()
        if shared not in get_args(Shared):
            raise UserError(f"Two towers share {', '.join(get_args(Shared))} of their weights; got {shared!r}.")
        self.shared = shared
        self.a = a
        self.b = a if shared == "all" else deepcopy(a) if b is None else b
        if shared in ("first", "last"):
            _share_half(self.a, self.b, first=shared == "first")

    def forward(
        self, first: Float[Tensor, "n c h w"], second: Float[Tensor, "n c h w"]
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
        """Return the embeddings of the first and of the second images.

        Args:
            first: One image of each pair.
            second: The other.
        """
        return self.a(first), self.b(second)


class SiameseNet(PairNet):
    """One net for both images of a pair (Bromley et al. 1993).

    Args:
        net: The net.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__(net)


class TripletNet(nn.Module):
    """One net for anchor, positive and negative (Hoffer, Ailon 2015).

    Args:
        net: The net.

    Examples:
        >>> net = TripletNet(nn.Flatten())
        >>> [embeddings.shape for embeddings in net(*torch.zeros(3, 2, 1, 8, 8))]
        [torch.Size([2, 64]), torch.Size([2, 64]), torch.Size([2, 64])]
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(
        self,
        anchor: Float[Tensor, "n c h w"],
        positive: Float[Tensor, "n c h w"],
        negative: Float[Tensor, "n c h w"],
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"], Float[Tensor, "n d"]]:
        """Return the three embeddings of each triplet.

        Args:
            anchor: Images.
            positive: One image of each anchor's class.
            negative: One of another class.
        """
        return self.net(anchor), self.net(positive), self.net(negative)


class DecisionNet(nn.Module):
    """Descriptors of two towers, joined, and a small net that gives one score: "siam" and "pseudo-siam".

    Args:
        towers: The towers.
        embedding_dim: Dimensions of one descriptor.
        hidden: Units of the hidden layer.

    Reference: Zagoruyko, Komodakis 2015

    Examples:
        >>> net = DecisionNet(PairNet(nn.Flatten()), embedding_dim=64)
        >>> net(torch.zeros(5, 1, 8, 8), torch.zeros(5, 1, 8, 8)).shape
        torch.Size([5])
        >>> net.score(torch.zeros(5, 64), torch.zeros(5, 64)).shape
        torch.Size([5])
    """

    def __init__(self, towers: PairNet, embedding_dim: int, hidden: int = 64) -> None:
        super().__init__()
        self.towers = towers
        self.decision = nn.Sequential(nn.Linear(2 * embedding_dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, first: Float[Tensor, "n c h w"], second: Float[Tensor, "n c h w"]) -> Float[Tensor, " n"]:
        """Return a score for each pair; higher for two patches that match.

        Args:
            first: One image of each pair.
            second: The other.
        """
        return self.score(*self.towers(first, second))

    def score(self, first: Float[Tensor, "n d"], second: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """Return the scores of pairs whose descriptors are known.

        Args:
            first: One descriptor of each pair.
            second: The other.
        """
        score: Tensor = self.decision(torch.cat([first, second], dim=1))
        return score.squeeze(1)


class TwoChannelNet(nn.Module):
    """A net that sees both images as two channels of one: there is no descriptor, every pair is computed anew.

    Args:
        net: A net of twice the images' channels that gives one number.

    Reference: Zagoruyko, Komodakis 2015

    Examples:
        >>> net = TwoChannelNet(nn.Sequential(nn.Flatten(), nn.Linear(2 * 64, 1)))
        >>> net(torch.zeros(5, 1, 8, 8), torch.zeros(5, 1, 8, 8)).shape
        torch.Size([5])
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, first: Float[Tensor, "n c h w"], second: Float[Tensor, "n c h w"]) -> Float[Tensor, " n"]:
        """Return a score for each pair; higher for two patches that match.

        Args:
            first: One image of each pair.
            second: The other.
        """
        score: Tensor = self.net(torch.cat([first, second], dim=1))
        return score.squeeze(1)


class TwoStreams(nn.Module):
    """Features of the middle of an image at full resolution, and of the whole at half the resolution, joined.

    Args:
        central: Body of the middle: channels × size/2 × size/2 to features.
        surround: Body of the whole, seen at the same size.
        normalize: L2-normalize the joined features.

    Reference: Zagoruyko, Komodakis 2015 ("central-surround two-stream")

    Examples:
        >>> TwoStreams(nn.Flatten(), nn.Flatten())(torch.zeros(5, 1, 8, 8)).shape
        torch.Size([5, 32])
    """

    def __init__(self, central: nn.Module, surround: nn.Module, normalize: bool = False) -> None:
        super().__init__()
        self.central = central
        self.surround = surround
        self.normalize = normalize

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Return the features of both streams.

        Args:
            images: The images.
        """
        features = torch.cat([self.central(central_half(images)), self.surround(half_resolution(images))], dim=1)
        return l2_normalize(features) if self.normalize else features


class CentralSurroundNet(nn.Module):
    """Two streams that see both images as two channels each, and a small net that decides ("2ch-2stream").

    Args:
        central: Body of the middle: 2 · channels × size/2 × size/2 to features.
        surround: Body of the whole, seen at the same size.
        num_features: Features of both bodies together.
        hidden: Units of the hidden layer.

    Reference: Zagoruyko, Komodakis 2015

    Examples:
        >>> net = CentralSurroundNet(nn.Flatten(), nn.Flatten(), num_features=64)
        >>> net(torch.zeros(5, 1, 8, 8), torch.zeros(5, 1, 8, 8)).shape
        torch.Size([5])
    """

    def __init__(self, central: nn.Module, surround: nn.Module, num_features: int, hidden: int = 64) -> None:
        super().__init__()
        self.streams = TwoStreams(central, surround)
        self.decision = nn.Sequential(nn.Linear(num_features, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, first: Float[Tensor, "n c h w"], second: Float[Tensor, "n c h w"]) -> Float[Tensor, " n"]:
        """Return a score for each pair; higher for two patches that match.

        Args:
            first: One image of each pair.
            second: The other.
        """
        score: Tensor = self.decision(self.streams(torch.cat([first, second], dim=1)))
        return score.squeeze(1)


def central_half(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h//2 w//2"]:
    """Return the middle of each image, half as high and half as wide, at full resolution."""
    height, width = images.shape[-2] // 2, images.shape[-1] // 2
    top, left = height // 2, width // 2
    return images[..., top : top + height, left : left + width]


def half_resolution(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h//2 w//2"]:
    """Return each image at half the resolution."""
    if images.shape[-1] % 2 == 0 and images.shape[-2] % 2 == 0:
        return avg_pool2d(images, 2)
    return interpolate(images, scale_factor=0.5, mode="bilinear", antialias=True)


def _share_half(a: nn.Module, b: nn.Module, *, first: bool) -> None:
    ours, theirs = list(_weighted(a)), list(_weighted(b))
    if _shapes(ours) != _shapes(theirs):
        raise UserError(
            f"Towers that share weights are built alike; got {len(ours)} layers with weights and {len(theirs)}, or "
            "other sizes: build both with the same name and sizes."
        )
    half = len(ours) // 2
    shared = slice(half) if first else slice(half, None)
    for (_, _, layer), (owner, name, _) in zip(ours[shared], theirs[shared], strict=True):
        setattr(owner, name, layer)


def _weighted(net: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    """Return each layer that holds weights itself: (its owner, its name there, the layer), in order."""
    for owner in net.modules():
        for name, layer in owner.named_children():
            if any(True for _ in layer.parameters(recurse=False)):
                yield owner, name, layer


def _shapes(layers: list[tuple[nn.Module, str, nn.Module]]) -> list[list[tuple[int, ...]]]:
    return [[tuple(weight.shape) for weight in layer.parameters(recurse=False)] for _, _, layer in layers]
