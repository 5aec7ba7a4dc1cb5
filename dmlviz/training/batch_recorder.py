"""Records one training batch without affecting the training."""

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz.losses.base import Loss
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets, pair_masks
from dmlviz.training.batch_record import MAX_TRIPLETS, BatchRecord

MAX_WEIGHT_VALUES = 1 << 15  # larger loss weights are not recorded


class BatchRecorder:
    """Recorder of one batch: create it after the forward pass, call `finish` after `optimizer.step()`.

    Args:
        images: Indices of the images (n).
        labels: Their classes (n).
        embeddings: Embeddings as the loss sees them (n × d).
        tuples: The tuples of a miner or sampler.
        loss: The loss after its call.
        pixels: The augmented images (uint8); None where they are those of the data set.
    """

    def __init__(
        self,
        images: Tensor,
        labels: Tensor,
        embeddings: Tensor,
        tuples: Pairs | Triplets | None,
        loss: Loss,
        pixels: Tensor | None = None,
    ) -> None:
        self.images, self.labels, self.embeddings, self.tuples = images, labels, embeddings, tuples
        self.pixels = pixels
        embeddings.retain_grad()
        self.loss_per_image = loss.loss_per_image
        self.loss_weights = {
            name: _array(weight) for name, weight in loss.state_dict().items() if weight.numel() <= MAX_WEIGHT_VALUES
        }

    def finish(
        self, step: int, loss: float, active: float, net: nn.Module, inputs: Tensor, gradient_scale: float = 1.0
    ) -> BatchRecord | None:
        """Return the record of the batch, or None if a value is not finite.

        Args:
            step: The number of the batch, from 1.
            loss: The value of the loss.
            active: The fraction of active loss terms.
            net: The net after the update, in training mode, with its projection head.
            inputs: The images of the batch, as the net takes them.
            gradient_scale: Factor on the gradients.
        """
        after = _embed_without_side_effects(net, inputs)
        gradient = self.embeddings.grad
        before = _array(self.embeddings)
        grad = np.zeros_like(before) if gradient is None else _array(gradient) / gradient_scale
        if not all(np.isfinite(part).all() for part in (before, after, grad)):
            return None
        pairs, triplets, count = None, None, 0
        if isinstance(self.tuples, Triplets):
            rows = torch.stack(self.tuples, dim=1).cpu().numpy()
            count = len(rows)
            subset = np.linspace(0, count - 1, min(count, MAX_TRIPLETS)).round().astype(int)
            triplets = rows[subset]
        elif self.tuples is not None:
            positive, negative = pair_masks(self.tuples, len(self.labels))
            pairs = (positive | negative).cpu().numpy()
            count = len(self.tuples.a) + len(self.tuples.b)
        return BatchRecord(
            step=step,
            loss=loss,
            active=active,
            images=self.images.cpu().numpy(),
            labels=self.labels.cpu().numpy(),
            embeddings_before=before,
            embeddings_after=after,
            gradient=grad,
            pairs=pairs,
            is_anchored=isinstance(self.tuples, AnchoredPairs),
            triplets=triplets,
            num_mined=count,
            loss_weights=self.loss_weights,
            loss_per_image=None if self.loss_per_image is None else _array(self.loss_per_image),
            pixels=None if self.pixels is None else self.pixels.cpu().numpy(),
        )


@torch.no_grad()
def _embed_without_side_effects(net: nn.Module, pixels: Tensor) -> np.ndarray:
    """Embed images with the net in training mode, then restore its buffers (batch-norm statistics)."""
    buffers = [(buffer, buffer.clone()) for buffer in net.buffers()]
    embeddings = _array(net(pixels))
    for buffer, value in buffers:
        buffer.copy_(value)
    return embeddings


def _array(values: Tensor) -> np.ndarray:
    return values.detach().float().cpu().numpy().copy()
