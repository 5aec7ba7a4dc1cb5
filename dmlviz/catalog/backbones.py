"""The specs of the pretrained backbones: nets of torchvision and timm that make features, to train heads on."""

import re
from dataclasses import dataclass
from typing import Literal

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.parameters import Catalog, Spec, texts

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


_RESNET = ("layer1", "layer2", "layer3", "layer4")
_TIMM_VIT = tuple(f"blocks.{number}" for number in range(12))


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


BACKBONES = BackboneCatalog(
    "backbone",
    [
        BackboneSpec(
            **texts("backbone", "resnet18"),
            dimensions=512,
            head="fc",
            blocks=_RESNET,
            training_ms=40,
            weights="ResNet18_Weights.IMAGENET1K_V1",
            batch_norm=True,
        ),
        BackboneSpec(
            **texts("backbone", "resnet50"),
            dimensions=2048,
            head="fc",
            blocks=_RESNET,
            training_ms=97,
            weights="ResNet50_Weights.IMAGENET1K_V2",
            batch_norm=True,
        ),
        BackboneSpec(
            **texts("backbone", "efficientnet_b0"),
            dimensions=1280,
            head="classifier.1",
            blocks=tuple(f"features.{number}" for number in range(1, 8)),
            training_ms=26,
            weights="EfficientNet_B0_Weights.IMAGENET1K_V1",
            batch_norm=True,
        ),
        BackboneSpec(
            **texts("backbone", "convnext_tiny"),
            dimensions=768,
            head="classifier.2",
            blocks=("features.1", "features.2", "features.4", "features.6"),
            training_ms=115,
            weights="ConvNeXt_Tiny_Weights.IMAGENET1K_V1",
        ),
        BackboneSpec(
            **texts("backbone", "vit_b_16"),
            dimensions=768,
            head="heads.head",
            blocks=tuple(f"encoder.layers.encoder_layer_{number}" for number in range(12)),
            training_ms=267,
            weights="ViT_B_16_Weights.IMAGENET1K_V1",
        ),
        BackboneSpec(
            **texts("backbone", "vit_s_16"),
            dimensions=384,
            head="head",
            blocks=_TIMM_VIT,
            training_ms=80,
            weights="vit_small_patch16_224.augreg_in21k_ft_in1k",
            library="timm",
            mean=(0.5, 0.5, 0.5),
            std=(0.5, 0.5, 0.5),
        ),
        BackboneSpec(
            **texts("backbone", "dinov2_s_14"),
            dimensions=384,
            head="head",
            blocks=_TIMM_VIT,
            training_ms=114,
            weights="vit_small_patch14_dinov2.lvd142m",
            library="timm",
        ),
        BackboneSpec(
            **texts("backbone", "clip_b_16"),
            dimensions=768,
            head="head",
            blocks=_TIMM_VIT,
            training_ms=292,
            weights="vit_base_patch16_clip_224.openai",
            library="timm",
            mean=(0.48145466, 0.4578275, 0.40821073),
            std=(0.26862954, 0.26130258, 0.27577711),
        ),
    ],
)


def blocks_of(dataset: DatasetSpec) -> int:
    """Return how many blocks can be trained of the backbone of a data set: 0 without features."""
    known = dataset.features is not None and dataset.features.backbone in BACKBONES
    return len(BACKBONES[dataset.features.backbone].blocks) if known and dataset.features is not None else 0
