"""The specs of the embedding nets."""

from collections.abc import Sequence
from dataclasses import dataclass

from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.parameters import Catalog, Spec, specs


@dataclass(frozen=True, kw_only=True)
class NetSpec(Spec):
    """A net.

    Attributes:
        takes_features: Whether it looks at no neighborhood of pixels, so that it can be a head on features.
        batch_norm: Whether it has batch normalization, which a training can freeze.
        torchvision: Whether it is a net of torchvision, which not everybody has.
    """

    takes_features: bool = False
    batch_norm: bool = False
    torchvision: bool = False


NETS = Catalog("net", specs(NetSpec, "net"))


def nets_for(dataset: DatasetSpec) -> Sequence[str]:
    """Return the names of the nets that can be trained on a data set: heads only, where it has vectors for them."""
    has_vectors = dataset.features is not None or dataset.of_points
    return [name for name, net in NETS.items() if net.takes_features or not has_vectors]


def has_batch_norm(dataset: DatasetSpec, net: str, unfrozen_blocks: int) -> bool:
    """Return whether what is trained has batch normalization: the net, or unfrozen blocks of a backbone."""
    backbone = BACKBONES[dataset.features.backbone] if dataset.features is not None and unfrozen_blocks else None
    return NETS[net].batch_norm or (backbone is not None and backbone.batch_norm)
