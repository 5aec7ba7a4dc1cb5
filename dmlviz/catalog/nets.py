"""The specs of the embedding nets."""

from collections.abc import Sequence
from dataclasses import dataclass

from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.parameters import Catalog, Spec


@dataclass(frozen=True, kw_only=True)
class NetSpec(Spec):
    """A net.

    Attributes:
        takes_features: Whether it looks at no neighborhood of pixels, so that it can be a head on features.
        batch_norm: Whether it has batch normalization, which a training can freeze.
    """

    takes_features: bool = False
    batch_norm: bool = False


NETS = Catalog(
    "net",
    [
        NetSpec(
            name="small",
            title="Small",
            summary="Strided convolutions: learns digits in seconds on a laptop. The net for watching.",
            when_to_use="For watching and for trying losses: nearly as good as LeNet on digits in a fraction of the "
            "time.",
        ),
        NetSpec(
            name="lenet",
            aliases=("bielski",),
            title="LeNet",
            summary="The classical siamese net, two convolutions with pooling: about seven times the work per step.",
            when_to_use="To compare with papers and lectures that use the siamese net on MNIST.",
            reference="LeCun, Bottou, Bengio, Haffner 1998; Chopra, Hadsell, LeCun 2005",
        ),
        NetSpec(
            name="linear",
            aliases=("LMNN", "Mahalanobis", "Xing"),
            title="Linear",
            summary="One matrix W of the pixels: the distance of two images is a learned Mahalanobis distance.",
            when_to_use="To learn a metric in the classical sense, and to look at it: each row of W is a picture. What "
            "another net adds is the difference to this.",
            formula=r"f(x) = Wx,\quad d^2(x, y) = (x - y)^\top A\,(x - y),\quad A = W^\top W",
            reference="Xing, Ng, Jordan, Russell 2002; Goldberger, Roweis, Hinton, Salakhutdinov 2004; Weinberger, "
            "Blitzer, Saul 2005",
            takes_features=True,
        ),
        NetSpec(
            name="mlp",
            title="MLP",
            summary="Two hidden layers, no spatial prior: the fastest, and a baseline.",
            when_to_use="As a baseline: what convolution adds is the difference to this. Quickest of all on small "
            "images.",
            takes_features=True,
        ),
        NetSpec(
            name="protonet",
            title="ProtoNet",
            summary="Four blocks of convolution, batch normalization and pooling, as in few-shot learning.",
            when_to_use="With episodes and the prototypical loss, as in the few-shot literature.",
            reference="Vinyals et al. 2016; Snell, Swersky, Zemel 2017",
            batch_norm=True,
        ),
        NetSpec(
            name="resnet18",
            title="ResNet-18",
            summary="Eighteen layers with shortcuts, for larger color images; slow without a GPU.",
            when_to_use="For images larger than digits, in color. Slow for little gain at 28 × 28.",
            reference="He, Zhang, Ren, Sun 2016",
            batch_norm=True,
        ),
    ],
)


def nets_for(dataset: DatasetSpec) -> Sequence[str]:
    """Return the names of the nets that can be trained on a data set: on features of a backbone, heads only."""
    return [name for name, net in NETS.items() if dataset.features is None or net.takes_features]


def has_batch_norm(dataset: DatasetSpec, net: str, unfrozen_blocks: int) -> bool:
    """Return whether what is trained has batch normalization: the net, or unfrozen blocks of a backbone."""
    backbone = BACKBONES[dataset.features.backbone] if dataset.features is not None and unfrozen_blocks else None
    return NETS[net].batch_norm or (backbone is not None and backbone.batch_norm)
