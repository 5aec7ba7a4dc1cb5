"""Implementations of the embedding nets: a body that ends in a linear layer, with optional L2 normalization."""

import math
from contextlib import nullcontext

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, prelu

from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import Registry
from dmlviz.errors import UserError
from dmlviz.ops.dots import places
from dmlviz.ops.fixed_path import on_fixed_path
from dmlviz.ops.pairwise import l2_normalize
from dmlviz.ops.spaces import PoincareBall
from dmlviz.ops.torch_state import own_state

registry = Registry(NETS)


class EmbeddingNet(nn.Module):
    """A net from images to embeddings; with `normalize` of length 1, except that zero stays zero; or in a ball.

    Args:
        name: Name in the catalog.
        body: Module from images to raw embeddings.
        image: Input shape (channels, height, width).
        normalize: L2-normalize the embeddings.
        ball: The ball into which the exponential map brings what the body gives; None for the Euclidean space.
        neck: Batch normalization of what the body gives; None for none.
    """

    def __init__(
        self,
        name: str,
        body: nn.Module,
        image: tuple[int, int, int],
        normalize: bool,
        ball: PoincareBall | None = None,
        neck: "BNNeck | None" = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.body = body
        self.image = image
        self.normalize = normalize
        self.ball = ball
        self.neck = neck

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Embed normalized images; raise UserError unless they have the shape that the net was built for."""
        if images.shape[1:] != self.image:
            expected, received = (" × ".join(map(str, shape)) for shape in (self.image, images.shape[1:]))
            raise UserError(f"This {self.name} takes images of {expected} (channels × height × width); got {received}.")
        embeddings: Tensor = self.body(images)
        if self.neck is not None:
            embeddings = self.neck(embeddings)
        if self.ball is not None:
            return self.ball.drawn(embeddings)
        return l2_normalize(embeddings) if self.normalize else embeddings


def build_model(
    name: str,
    embedding_dim: int,
    normalize: bool,
    channels: int,
    size: int,
    seed: int | None,
    ball: PoincareBall | None = None,
    of_points: bool = False,
    bn_neck: bool = False,
) -> EmbeddingNet:
    """Create the net; arguments as `dmlviz.nets.build`, already validated."""
    with own_state(), nullcontext() if seed is None else torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.default_generator.manual_seed(seed)
        body = registry[name](2, 1, embedding_dim) if of_points else registry[name](channels, size, embedding_dim)
        if of_points:
            body = nn.Sequential(PlaceOfDot(), body)
        neck = BNNeck(embedding_dim) if bn_neck else None
        return EmbeddingNet(name, body, (channels, size, size), normalize, ball, neck)


class BNNeck(nn.BatchNorm1d):
    """Batch normalization without a shift, between the features of a loss on images and those of a loss on classes.

    A loss on images sees the features that enter it, of any length (`entered`). The embedding is what comes out, of
    length 1 with `normalize`: a loss with class weights sees it, and so do scores, maps and exports.

    Reference:
        Luo, Gu, Liao, Lai, Jiang: Bag of tricks and a strong baseline for deep person re-identification, CVPR workshops
        2019, section 3.5. There the classifier and its test see what comes out as it is, and the test compares cosines.
    """

    words = "BNNeck"

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.bias.requires_grad_(False)  # stays 0
        self.entered: Tensor | None = None

    def forward(self, input: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Normalize features; in training, keep those that entered until the next call."""
        input = input.to(torch.promote_types(input.dtype, torch.float32))  # one tensor for both losses
        self.entered = input if self.training else None
        return super().forward(input)


class BeforeNeck(nn.Module):
    """A net as far as its BNNeck, in training."""

    def __init__(self, net: nn.Module, neck: BNNeck) -> None:
        super().__init__()
        self.net, self.neck = net, neck

    def forward(self, images: Tensor) -> Tensor:
        """Return what enters the neck."""
        self.net(images)
        assert self.neck.entered is not None
        return self.neck.entered


class PlaceOfDot(nn.Module):
    """The point that each picture of a dot shows: the center of its mass, from -1 to 1."""

    words = "place of the dot: x, y"
    places: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places", torch.from_numpy(places()), persistent=False)

    def forward(self, images: Float[Tensor, "n 1 h w"]) -> Float[Tensor, "n 2"]:
        """Return x and y of each."""
        mass = images.flatten(1)
        return mass @ self.places / mass.sum(1, keepdim=True).clamp_min(1e-6)


class PooledPReLU(nn.PReLU):
    """PReLU followed by 2 × 2 max pooling.

    For slopes that are not negative the two commute exactly, and pooling first leaves PReLU, the slowest part of the
    classical net, a quarter of the pixels.
    """

    words = "PReLU, 2 × 2 pooling"

    def forward(self, input: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h//2 w//2"]:
        """Apply both, in the faster order where it gives the same result."""
        if not on_fixed_path() and (self.weight >= 0).all():
            return prelu(max_pool2d(input, 2), self.weight)
        return max_pool2d(prelu(input, self.weight), 2)


@registry.register("small")
def _small_cnn(channels: int, size: int, embedding_dim: int) -> nn.Module:
    # The first stride leaves 8 to 10 columns of any image, so that the cost does not grow with its size.
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
def _lenet(channels: int, size: int, embedding_dim: int) -> nn.Sequential:
    padding = 0 if size >= 16 else 2  # the classical net has none, but would reduce 8 × 8 pixels to nothing
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


@registry.register("lenet_prelu")
def _lenet_prelu(channels: int, size: int, embedding_dim: int) -> nn.Module:
    return nn.Sequential(*_lenet(channels, size, embedding_dim), nn.PReLU())


@registry.register("linear")
def _linear(channels: int, size: int, embedding_dim: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * size**2, embedding_dim, bias=False))


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
        if size >= 2:  # three poolings reduce 8 × 8 pixels to one
            layers.append(nn.MaxPool2d(2))
            size //= 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * size**2, embedding_dim))


@registry.register("resnet18")
def _resnet18(channels: int, size: int, embedding_dim: int) -> nn.Module:
    from dmlviz.nets.torchvision_operators import register_missing

    register_missing()
    from torchvision.models import resnet18

    net: nn.Module = resnet18(num_classes=embedding_dim)
    if size < 64:  # no early downsampling of small images (He et al. 2016, section 4.2)
        net.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        net.maxpool = nn.Identity()
    elif channels != 3:
        net.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
    return net


def _num_features(features: nn.Module, channels: int, size: int) -> int:
    with torch.no_grad():
        return int(features(torch.zeros(1, channels, size, size)).shape[1])


def freeze_batch_norm(net: nn.Module) -> list[nn.Module]:
    """Stop the training of batch normalization: its weights need no gradient any more.

    Args:
        net: The net.

    Returns:
        Its layers of batch normalization but for a BNNeck. In evaluation mode they keep their statistics, so put them
        there whenever the net goes into training mode.
    """
    norms = (layer for layer in net.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm))
    layers = [layer for layer in norms if not isinstance(layer, BNNeck)]
    for layer in layers:
        layer.requires_grad_(False)
    return [*layers]


def projection_head(embedding_dim: int, projection_dim: int, seed: int) -> nn.Module:
    """Return a hidden layer and a linear one, from embeddings (n × embedding_dim) to n × projection_dim.

    Args:
        embedding_dim: Dimensions of the embedding.
        projection_dim: Dimensions of the output, and units of the hidden layer.
        seed: Seed of the weights; torch's global random state stays untouched.

    Reference:
        Chen, Kornblith, Norouzi, Hinton: A simple framework for contrastive learning (SimCLR), ICML 2020, section 4.2
    """
    with own_state(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(embedding_dim, projection_dim),
            nn.BatchNorm1d(projection_dim),
            nn.ReLU(),
            nn.Linear(projection_dim, projection_dim),
        )


def templates(net: EmbeddingNet) -> np.ndarray:
    """Return the rows of W as pictures.

    Args:
        net: A net whose body is one linear layer, such as `build("linear")`.

    Returns:
        float32, rows × channels × height × width: coordinate k of an embedding is the sum of row k times the image.

    Raises:
        UserError: For any other net, and for one that takes points.

    Examples:
        >>> from dmlviz.nets import build
        >>> templates(build("linear", embedding_dim=2, size=8)).shape
        (2, 1, 8, 8)
    """
    weight = _matrix(net)
    if weight[0].numel() != math.prod(net.image):
        raise UserError(
            f"A row of W is a picture where a net takes images; this {net.name} takes points of {weight.shape[1]} "
            "numbers: use one built for images."
        )
    return weight.reshape(len(weight), *net.image).numpy()


def mahalanobis_matrix(net: EmbeddingNet) -> np.ndarray:
    """Return A = WᵀW, so that the squared distance of two embeddings is (x − y)ᵀA(x − y).

    Args:
        net: A net whose body is one linear layer, without L2 normalization.

    Returns:
        float32, pixels × pixels.

    Raises:
        UserError: For any other net.

    Reference:
        Weinberger, Saul: Distance metric learning for large margin nearest neighbor classification, JMLR 2009.

    Examples:
        >>> from dmlviz.nets import build
        >>> mahalanobis_matrix(build("linear", embedding_dim=2, normalize=False, size=8)).shape
        (64, 64)
    """
    if net.normalize or net.ball is not None:
        raise UserError(
            "A = WᵀW is the matrix of a net's distance only where embeddings are vectors of any length; this net's are "
            "normalized, or in a ball: build it with normalize=False."
        )
    weight = _matrix(net)
    return (weight.T @ weight).numpy()


def _matrix(net: EmbeddingNet) -> torch.Tensor:
    if net.neck is not None:
        raise UserError(f"A net with a BNNeck scales and shifts what W gives; got one on {net.name}: build it without.")
    layers = [layer for layer in net.body.modules() if any(True for _ in layer.parameters(recurse=False))]
    if len(layers) != 1 or not isinstance(layers[0], nn.Linear):
        raise UserError(f"Only a net of one linear layer is one matrix; {net.name} has {len(layers)} layers.")
    return layers[0].weight.detach().cpu().float()
