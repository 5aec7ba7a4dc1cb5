"""The architectures that pages draw, of nets, losses, labs and papers: found in the nets themselves."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, cross_entropy

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import Fields, describe_unknown
from dmlviz.errors import UserError
from dmlviz.labs import patches, two_domains
from dmlviz.labs.patches.measure import build_patch_net
from dmlviz.labs.two_domains.measure import build_towers
from dmlviz.losses import build as build_loss
from dmlviz.losses.base import Loss
from dmlviz.losses.class_weights import cos_with_margin
from dmlviz.nets import build, describe
from dmlviz.nets.architecture import Architecture, Picture
from dmlviz.ops.pairwise import l2_normalize

SIZE, PATCH, DIM, CLASSES, WATCHED = 28, 32, 64, 10, "lenet"
PAIR, TRIPLET = ("first image", "second image"), ("anchor", "positive", "negative")


def answer(data_root: Path | None, kind: str, name: str, **settings: int) -> Picture:
    """Return the picture of an architecture; see `find`."""
    return find(kind, name, **settings).picture()


def find(kind: str, name: str, **settings: Any) -> Architecture:
    """Return the architecture of a net, of the flow into a loss, or of a lab's or a paper's net.

    Args:
        kind: "net", "loss", "patches", "two-domains" or "paper".
        name: Its name there.
        **settings: Arguments of `dmlviz.nets.build`, for a net.

    Raises:
        UserError: For an unknown kind or name.
    """
    if kind == "net":
        net = build(name, seed=0, **settings)
        return describe(net, torch.rand(1, *net.image), names=["image"], title=NETS[name].title)
    if kind == "loss":
        flow, names = loss_flow(name)
        return describe(flow, *torch.rand(len(names), 2, 1, SIZE, SIZE), names=names, title=LOSSES[name].title)
    if kind not in _OTHERS:
        raise UserError(f"An architecture is of a net, loss, {', '.join(_OTHERS)}; got {kind!r}.")
    names, make = _OTHERS[kind]
    if name not in names:
        raise UserError(describe_unknown("architecture", name, {each: each for each in names}))
    net, inputs, words = make(name)
    return describe(net, *inputs, names=words, title=name)


class Step(nn.Module):
    """A step without layers, with the words that a picture has for it."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words


class LossStep(Step):
    """A loss, given the embeddings of each input; image i of one is of the class of image i of the first."""

    def __init__(self, loss: Loss, title: str) -> None:
        super().__init__(title)
        self.loss = loss

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return the loss; images of a last input of three are of other classes."""
        n = len(embeddings[0])
        labels = torch.arange(n).repeat(len(embeddings))
        labels[2 * n :] += n
        value: Tensor = self.loss(torch.cat(embeddings), labels)
        return value


class Flow(nn.Module):
    """One net for all images, and what the loss does with their embeddings."""

    def __init__(self, net: nn.Module, end: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.end = end

    def forward(self, *images: Tensor) -> Tensor:
        """Return the loss."""
        value: Tensor = self.end(*[self.net(each) for each in images])
        return value


class Cosines(Step):
    """cos θ of each embedding with the weight of each class."""

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__("cos θ with each of W, both of length 1")
        self.weight = weight

    def forward(self, x: Tensor) -> Tensor:
        """Return n × classes."""
        return l2_normalize(x) @ l2_normalize(self.weight).T


class Margin(Step):
    """The margin on the cosine with the own class."""

    def __init__(self, m1: float, m2: float, m3: float) -> None:
        angle = f"{m1:g}θ" if m1 != 1 else "θ"
        inside = f"{angle} + {math.degrees(m2):.3g}°" if m2 else angle
        super().__init__(f"own class: cos({inside})" + (f" − {m3:g}" if m3 else ""))
        self.margins = float(m1), float(m2), float(m3)

    def forward(self, cosines: Tensor) -> Tensor:
        """Return the cosines; the one of the own class, of number i for image i, has the margin."""
        own = torch.arange(len(cosines))
        lowered = cosines.clone()
        lowered[own, own] = cos_with_margin(cosines[own, own], *self.margins)
        return lowered


class Times(Step):
    """All scores times s."""

    def __init__(self, scale: float) -> None:
        super().__init__(f"times s = {scale:g}")
        self.scale = scale

    def forward(self, scores: Tensor) -> Tensor:
        """Return them."""
        return self.scale * scores


class CrossEntropy(Step):
    """Softmax and cross-entropy with the class of number i for image i."""

    def __init__(self) -> None:
        super().__init__("softmax, cross-entropy")

    def forward(self, scores: Tensor) -> Tensor:
        """Return the mean."""
        return cross_entropy(scores, torch.arange(len(scores)))


class Prototypes(Step):
    """The mean of each class's support, of which image i is of class i modulo the classes."""

    def __init__(self, classes: int) -> None:
        super().__init__("prototypes: the mean of each class")
        self.classes = classes

    def forward(self, support: Tensor) -> Tensor:
        """Return classes × dimensions."""
        return support.reshape(-1, self.classes, support.shape[1]).mean(dim=0)


class SquaredDistances(Step):
    """Minus the squared distance of each query to each prototype."""

    def __init__(self) -> None:
        super().__init__("−d² of each query to each prototype")

    def forward(self, queries: Tensor, prototypes: Tensor) -> Tensor:
        """Return queries × classes."""
        return -(queries[:, None] - prototypes).square().sum(dim=2)


class Episode(nn.Module):
    """The prototypical loss of support and queries."""

    def __init__(self, classes: int = 2) -> None:
        super().__init__()
        self.means, self.distances, self.loss = Prototypes(classes), SquaredDistances(), CrossEntropy()

    def forward(self, support: Tensor, queries: Tensor) -> Tensor:
        """Return the loss; query i is of class i."""
        value: Tensor = self.loss(self.distances(queries, self.means(support)))
        return value


def loss_flow(name: str) -> tuple[nn.Module, Sequence[str]]:
    """Return the way from images to a loss, with its defaults, and the names of its inputs.

    Every loss has one: of a pair, a triplet, or an image and class weights, with the net of lectures on digits.
    """
    spec = LOSSES[name]
    params: Fields = {"a": "contrastive", "b": "triplet"} if spec.parts(spec.with_defaults({})) else {}
    loss = build_loss(name, embedding_dim=DIM, num_classes=CLASSES, **params)
    if name in _FLOWS:
        return _FLOWS[name](loss)
    title = spec.title if spec.title.endswith("loss") else f"{spec.title} loss"
    if spec.compares == "classes" and not spec.tuple_kinds:
        names: Sequence[str] = ("image",)
    else:
        names = PAIR if spec.compares == "pairs" and "triplets" not in spec.tuple_kinds else TRIPLET
    return Flow(_net(spec.recommended.get("normalize", True)), LossStep(loss, title)), names


def _net(normalize: bool, dim: int = DIM) -> nn.Module:
    return build(WATCHED, embedding_dim=dim, normalize=normalize, size=SIZE, seed=0)


def _with_margin(loss: Loss) -> tuple[nn.Module, Sequence[str]]:
    own = loss.declaration.with_defaults({})
    margins = (1.0, 0.0, 0.0) if loss.declaration.angular_margins is None else loss.declaration.angular_margins(own)
    margin = [] if margins == (1, 0, 0) else [Margin(*margins)]
    steps = [Cosines(loss.get_parameter("weight")), *margin, Times(own["scale"]), CrossEntropy()]
    return Flow(_net(normalize=True), nn.Sequential(*steps)), ("image",)


def _with_prelu(loss: Loss) -> tuple[nn.Module, Sequence[str]]:
    """Return the classifier of lectures: two dimensions to look at, a PReLU, and a score for each digit."""
    return Flow(_net(False, 2), nn.Sequential(nn.PReLU(), nn.Linear(2, CLASSES), CrossEntropy())), ("image",)


def _episode(loss: Loss) -> tuple[nn.Module, Sequence[str]]:
    return Flow(_net(normalize=False), Episode()), ("support", "queries")


_FLOWS = {"softmax": _with_prelu, "prototypical": _episode} | dict.fromkeys(
    ("normalized_softmax", "cosface", "arcface", "combined_margin"), _with_margin
)


class TrackingNet(nn.Module):
    """φ of five layers for exemplar and search region, and their cross-correlation (Bertinetto et al. 2016)."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(3, 96, 11, stride=2), nn.BatchNorm2d(96), nn.ReLU(), nn.MaxPool2d(3, 2)),
            *(nn.Conv2d(96, 256, 5, groups=2), nn.BatchNorm2d(256), nn.ReLU(), nn.MaxPool2d(3, 2)),
            *(nn.Conv2d(256, 384, 3), nn.BatchNorm2d(384), nn.ReLU()),
            *(nn.Conv2d(384, 384, 3, groups=2), nn.BatchNorm2d(384), nn.ReLU()),
            nn.Conv2d(384, 256, 3, groups=2),
        )

    def forward(self, exemplar: Tensor, region: Tensor) -> Tensor:
        """Return the score of each place of the region."""
        return conv2d(self.features(region), self.features(exemplar))


class L2Pooling(nn.LPPool2d):
    """The root of the sum of squares of each window, where FaceNet has it in place of a maximum."""

    words = "L2 pooling, 3 × 3"


def _inception() -> nn.Module:
    """Return an inception block with L2 pooling: block 3a of FaceNet's NN2 (Schroff et al. 2015, table 2)."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Conv2d(192, 64, 1)
            self.b = nn.Sequential(nn.Conv2d(192, 96, 1), nn.ReLU(), nn.Conv2d(96, 128, 3, padding=1))
            self.c = nn.Sequential(nn.Conv2d(192, 16, 1), nn.ReLU(), nn.Conv2d(16, 32, 5, padding=2))
            self.pool, self.d = L2Pooling(2, 3, stride=1), nn.Conv2d(192, 32, 1)

        def forward(self, x: Tensor) -> Tensor:
            pooled = self.pool(nn.functional.pad(x, (1, 1, 1, 1)))
            return torch.cat([self.a(x), self.b(x), self.c(x), self.d(pooled)], dim=1)

    return Block()


def _patch_net(name: str) -> tuple[nn.Module, Sequence[Tensor], Sequence[str]]:
    return build_patch_net(name, PATCH, 0), [*torch.rand(2, 1, 1, PATCH, PATCH)], ("first patch", "second patch")


def _towers(name: str) -> tuple[nn.Module, Sequence[Tensor], Sequence[str]]:
    net = build_towers(two_domains.VARIANTS[name]._asdict(), SIZE)
    return net, [*torch.rand(2, 1, 1, SIZE, SIZE)], ("photograph", "sketch")


def _paper_net(name: str) -> tuple[nn.Module, Sequence[Tensor], Sequence[str]]:
    if name == "inception-l2":
        return _inception(), [torch.rand(1, 192, 28, 28)], ("features",)
    return TrackingNet(), [torch.rand(1, 3, 127, 127), torch.rand(1, 3, 255, 255)], ("exemplar", "search region")


_OTHERS: Mapping[str, tuple[Sequence[str], Any]] = {
    "patches": (patches.NETS[1:], _patch_net),
    "two-domains": ([*two_domains.VARIANTS][1:], _towers),
    "paper": (("siamfc", "inception-l2"), _paper_net),
}
