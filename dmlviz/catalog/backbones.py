"""The specs of the pretrained backbones: nets of torchvision and timm that make features, to train heads on."""

import re
from dataclasses import dataclass
from typing import Literal

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.parameters import Catalog, Spec, specs

OF_TIMM = "timm:"  # before the name of any net of timm
_ANY_OF_TIMM = re.compile(rf"{OF_TIMM}([a-zA-Z0-9_.]{{1,90}})")


@dataclass(frozen=True, kw_only=True)
class BackboneSpec(Spec):
    """A net without its classification layer; for torchvision, `name` is that of its builder.

    Attributes:
        dimensions: Dimensions of the features; 0 where only the library knows them (`nets.backbones.complete`).
        head: Name of the classification layer in the module, or several with spaces; the features are its input.
        blocks: The first module of each block, in order; the last block reaches to the head. The part before the first
            block is never trained, and nothing is where no blocks are known.
        weights: The library's name of the weights that it downloads; timm calls its net so, too.
        training_ms: Processor time of one core for an image of a step, with the last block unfrozen, in ms; measured on
            a Xeon with AVX-512, in batches of 8.
        library: The library of the net; timm is an extra.
        batch_norm: Whether its blocks have batch normalization.
        side: Side of the square images that it takes, in pixels.
        mean, std: Of the red, green and blue pixels in its training, scaled to [0, 1].
    """

    dimensions: int
    head: str
    blocks: tuple[str, ...]
    weights: str
    training_ms: float
    library: Literal["torchvision", "timm"] = "torchvision"
    batch_norm: bool = False
    side: int = 224
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)


_TIMM_VIT = {"blocks": tuple(f"blocks.{number}" for number in range(12))}
_BLOCKS = {
    "vit_b_16": {"blocks": tuple(f"encoder.layers.encoder_layer_{number}" for number in range(12))},
    "vit_s_16": _TIMM_VIT,
    "dinov2_s_14": _TIMM_VIT,
    "clip_b_16": _TIMM_VIT,
}


class BackboneCatalog(Catalog[BackboneSpec]):
    """The backbones that are offered; any other net of timm is found as `timm:NAME`."""

    def __getitem__(self, name: str) -> BackboneSpec:
        known = _ANY_OF_TIMM.fullmatch(name) if isinstance(name, str) else None
        if known is None:
            return super().__getitem__(name)
        return BackboneSpec(
            name=name,
            title=known[1],
            summary="A net of timm.",
            dimensions=0,
            head="",
            blocks=(),
            training_ms=0,
            weights=known[1],
            library="timm",
        )

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and bool(_ANY_OF_TIMM.fullmatch(name)))


BACKBONES = BackboneCatalog("backbone", specs(BackboneSpec, "backbone", _BLOCKS))


def blocks_of(dataset: DatasetSpec) -> int:
    """Return how many blocks can be trained of the backbone of a data set: 0 without features."""
    known = dataset.features is not None and dataset.features.backbone in BACKBONES
    return len(BACKBONES[dataset.features.backbone].blocks) if known and dataset.features is not None else 0
