"""Offline hard negative mining over the whole training set."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmlviz.miners.base import Miner, MinerBatch, implements
from dmlviz.miners.triplets import hardest_negative
from dmlviz.miners.tuples import Triplets
from dmlviz.ops.pairwise import clamp_range
from dmlviz.ops.torch_state import own_state

_SEARCH_ROWS = 32  # anchors searched at a time: 32 × 60,000 float32 are 8 MB
_NO_ADDITIONS = torch.empty(0, dtype=torch.int64), -1  # row of each image's negative, size of the extended batch


@implements("offline_hard")
class OfflineHard(Miner):
    """Extends batches by each image's hardest negatives in the whole training set.

    `refresh` stores the embedded training set, and `extend_batch` appends negatives to a batch of indices. Mining the
    extended batch then selects (a, p, the negative added for a) for every ordered positive pair of the original batch.
    A batch that was not extended is mined for its own hardest negatives.

    Args:
        seed: Seed of the random choices.
        every: Epochs between two calls of `refresh`.
        negatives: Number of hardest negatives to choose from.
    """

    def __init__(self, *, seed: int, every: int, negatives: int) -> None:
        super().__init__("offline_hard", self._mine, seed)
        self.every = every
        self.negatives = negatives
        self._points = torch.empty(0, 0)
        self._labels = torch.empty(0, dtype=torch.int64)
        self._hardest = torch.empty(0, 0, dtype=torch.int64)
        self._has_negatives = torch.empty(0, dtype=torch.bool)
        self._additions = _NO_ADDITIONS

    def refresh(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> None:
        """Store the embeddings (n × d) and labels (n) of all training images, and discard earlier results."""
        self._points = clamp_range(embeddings.detach())
        self._points = torch.nan_to_num(self._points - self._points.mean(0))
        self._labels = labels.to(self._points.device, torch.int64)
        self._hardest = torch.full((len(labels), self.negatives), -1, device=self._points.device)
        self._has_negatives = torch.zeros(len(labels), dtype=torch.bool, device=self._points.device)

    @own_state()
    def extend_batch(self, batch: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Append one of the hardest negatives of each image, chosen at random.

        Args:
            batch: Indices of training images.

        Returns:
            The batch with the negatives appended, each once and only if it is not in the batch already.
        """
        if not len(self._points):
            return batch
        index = torch.from_numpy(batch).to(self._hardest.device)
        self._search(index[~self._has_negatives[index]].unique())
        hardest = self._hardest[index].cpu()
        count = (hardest >= 0).sum(1)
        nth = (torch.rand(len(batch), generator=self._generator, dtype=torch.float64) * count).long()
        negatives = hardest.gather(1, nth[:, None]).squeeze(1).tolist()  # -1 where there is no negative
        new = sorted(set(negatives) - set(batch.tolist()) - {-1})
        rows = np.concatenate([batch, np.array(new, dtype=np.int64)])
        row = {image: row for row, image in enumerate(rows.tolist())}
        self._additions = torch.tensor([row.get(image, -1) for image in negatives]), len(rows)
        return rows

    def _search(self, anchors: Int[Tensor, " n"]) -> None:
        # Each image is searched for at its first use after a refresh, which spreads the work over the epoch.
        squares = self._points.square().sum(1)
        for rows in anchors.split(_SEARCH_ROWS):
            distances = torch.addmm(squares, self._points[rows], self._points.T, alpha=-2)
            distances.masked_fill_(self._labels[rows, None] == self._labels, torch.inf)
            nearest = distances.topk(min(self.negatives, len(squares)), largest=False)
            self._hardest[rows, : nearest.indices.shape[1]] = nearest.indices.masked_fill(nearest.values.isinf(), -1)
        self._has_negatives[anchors] = True

    def _mine(self, batch: MinerBatch) -> Triplets:
        negatives, size = self._additions
        self._additions = _NO_ADDITIONS
        if size != len(batch.labels):
            return hardest_negative(batch, distance="euclidean")
        a, p = batch.positive_pairs
        original = (a < len(negatives)) & (p < len(negatives))
        a, p = a[original], p[original]
        n = negatives.to(a.device)[a]
        return Triplets(a[n >= 0], p[n >= 0], n[n >= 0])
