"""Takes down what the loss sees of one batch, without changing what is trained by a bit."""

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz.losses.base import Loss
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets, pair_masks
from dmlviz.training.batch_record import MAX_TRIPLETS, BatchRecord

MAX_WEIGHT_VALUES = 1 << 15  # numbers of one of the loss's weights


class BatchRecorder:
    """Made between the loss's value and its gradient; asked after the step."""

    def __init__(
        self, images: Tensor, labels: Tensor, embeddings: Tensor, tuples: Pairs | Triplets | None, loss: Loss
    ) -> None:
        self.images, self.labels, self.embeddings, self.tuples = images, labels, embeddings, tuples
        embeddings.retain_grad()
        self.terms = loss.loss_per_image
        width = embeddings.shape[1]
        self.learned = {
            name: _array(weight)
            for name, weight in loss.named_parameters()
            if weight.numel() <= MAX_WEIGHT_VALUES and (weight.ndim < 2 or weight.shape[1] == width)
        }

    def finish(self, step: int, loss: float, active: float, net: nn.Module, pixels: Tensor) -> BatchRecord | None:
        """What there was to see of the `step`-th batch, once the net has learned from it; None if not all is finite."""
        after = _embed_without_side_effects(net, pixels)
        gradient = self.embeddings.grad
        before = _array(self.embeddings)
        moved = np.zeros_like(before) if gradient is None else _array(gradient)
        if not all(np.isfinite(part).all() for part in (before, after, moved)):
            return None
        pairs, triplets, mined = None, None, 0
        if isinstance(self.tuples, Triplets):
            listed = torch.stack(self.tuples, dim=1).cpu().numpy()
            mined = len(listed)
            kept = np.linspace(0, mined - 1, min(mined, MAX_TRIPLETS)).round().astype(int)
            triplets = listed[kept]
        elif self.tuples is not None:
            positive, negative = pair_masks(self.tuples, len(self.labels))
            pairs = (positive | negative).cpu().numpy()
            mined = len(self.tuples.a) + len(self.tuples.b)
        return BatchRecord(
            step=step,
            loss=loss,
            active=active,
            images=self.images.cpu().numpy(),
            labels=self.labels.cpu().numpy(),
            embeddings_before=before,
            embeddings_after=after,
            gradient=moved,
            pairs=pairs,
            is_anchored=isinstance(self.tuples, AnchoredPairs),
            triplets=triplets,
            num_mined=mined,
            loss_weights=self.learned,
            loss_per_image=None if self.terms is None else _array(self.terms),
        )


@torch.no_grad()
def _embed_without_side_effects(net: nn.Module, pixels: Tensor) -> np.ndarray:
    """The same images as the net in training sees them now; what a batch norm keeps of them is taken back."""
    kept = [(buffer, buffer.clone()) for buffer in net.buffers()]
    embedded = _array(net(pixels))
    for buffer, value in kept:
        buffer.copy_(value)
    return embedded


def _array(values: Tensor) -> np.ndarray:
    return values.detach().float().cpu().numpy().copy()
