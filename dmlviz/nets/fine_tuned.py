"""A pretrained backbone whose last blocks are trained together with a head: one net from images to embeddings."""

from collections.abc import Mapping
from typing import Self

import numpy as np
import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.nets import build
from dmlviz.nets.backbones import Backbone, as_pixels
from dmlviz.nets.features import backbone_of
from dmlviz.nets.models import EmbeddingNet, freeze_batch_norm

CHUNK = 100  # images per forward pass of a small net: their feature maps fit into the processor's cache
GPU_CHUNK = 2000


class FineTunedNet(nn.Module):
    """Backbone, scaling of its features, and head; the last blocks of the backbone and the head are trained.

    The backbone is always in evaluation mode: its batch normalization keeps the statistics of the pretraining, as is
    usual in fine-tuning, where batches are small, and nothing is dropped out.

    Args:
        backbone: The backbone.
        head: The net on top of it.
        unfrozen_blocks: Number of its last blocks that are trained.
        mean: Mean of the features, as the head expects them.
        std: Their standard deviation.
    """

    def __init__(
        self, backbone: Backbone, head: EmbeddingNet, *, unfrozen_blocks: int, mean: float, std: float
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.mean = mean
        self.std = std
        self.normalize = head.normalize
        # Parameters come in the order in which a picture meets them, but for tokens and positions, which are first.
        start, unfrozen = f"{backbone.spec.blocks[-unfrozen_blocks]}.", False
        for name, parameter in backbone.body.named_parameters():
            unfrozen = unfrozen or name.startswith(start)
            parameter.requires_grad_(unfrozen)

    def forward(self, pixels: Num[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Embed pixels from 0 to 255, gray or in color, of any size."""
        features = (self.backbone(pixels).float() - self.mean) / self.std
        embeddings: Tensor = self.head(features[:, :, None, None])
        return embeddings

    @torch.inference_mode()
    def embed(self, images: np.ndarray) -> np.ndarray:
        """Return the embeddings (n × d, float32) of images: uint8, n × h × w or n × h × w × 3."""
        device, size = self.backbone.mean.device, self.backbone.chunk
        parts = (as_pixels(images[at : at + size]).to(device) for at in range(0, len(images), size))
        return np.concatenate([self(part).cpu().numpy() for part in parts])

    def train(self, mode: bool = True) -> Self:
        """Put the head into training mode, or all into evaluation mode."""
        super().train(mode)
        self.backbone.eval()
        return self

    @property
    def unfrozen(self) -> list[nn.Parameter]:
        """The trained parameters of the backbone."""
        return [parameter for parameter in self.backbone.parameters() if parameter.requires_grad]

    def trained_state(self) -> dict[str, Tensor]:
        """Return what training changes, by name: the state of the head, and the parameters of the unfrozen blocks."""
        unfrozen = {name for name, parameter in self.named_parameters() if parameter.requires_grad}
        state: dict[str, Tensor] = self.state_dict()
        return {name: value for name, value in state.items() if name.startswith("head.") or name in unfrozen}

    def load_trained(self, weights: Mapping[str, Tensor]) -> Self:
        """Take what `trained_state` gave; raise RuntimeError for anything else, as `load_state_dict` does."""
        if weights.keys() != self.trained_state().keys():
            raise RuntimeError("these are not the weights of a head and of as many unfrozen blocks")
        self.load_state_dict(weights, strict=False)
        return self


def fine_tuned(config: TrainConfig, seed: int | None = None) -> FineTunedNet:
    """Return the net that a training with unfrozen blocks begins with, on the processor.

    Args:
        config: The settings, with `unfrozen_blocks` of 1 or more.
        seed: Seed of the head's weights; None draws from torch's global random state.

    Raises:
        UserError: If the weights of the backbone are not on this machine.
    """
    features = DATASETS[config.dataset].features
    assert features is not None  # the config has been checked
    head = build(
        config.net,
        **config.embedding,
        features=features.dimensions,
        seed=seed,
    )
    backbone = backbone_of(config.dataset, "A net with unfrozen blocks")
    net = FineTunedNet(backbone, head, unfrozen_blocks=config.unfrozen_blocks, mean=features.mean, std=features.std)
    if config.frozen_batch_norm:
        freeze_batch_norm(net)
    return net.eval()


def trained_state(net: nn.Module) -> dict[str, Tensor]:
    """Return what a run keeps of a net: all of it, or of a backbone what was trained."""
    if isinstance(net, FineTunedNet):
        return net.trained_state()
    state: dict[str, Tensor] = net.state_dict()
    return state


def forward_chunk(net: nn.Module, device: torch.device) -> int:
    """Return how many images are best embedded at once on a device."""
    if isinstance(net, FineTunedNet):
        return net.backbone.chunk
    return GPU_CHUNK if device.type == "cuda" else CHUNK
